"use strict";
const page = (() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = document.getElementById("theme");
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const make = (tag, text, attributes = {}) => {
    const element = document.createElement(tag);
    if (text !== undefined && text !== null) element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const save = (name, content, type) => {
    const link = make("a", null, { download: name });
    link.href = URL.createObjectURL(new Blob([content], { type }));
    link.click();
    URL.revokeObjectURL(link.href);
  };

  // Tables: a click on a heading sorts; a second click reverses the order.
  const valueOf = (cell) => {
    const text = cell.dataset.value ?? cell.textContent;
    return text === "" || text === "–" ? null : isNaN(text) ? text : Number(text);
  };
  const sortable = (table) => {
    table.tHead.addEventListener("click", (event) => {
      const heading = event.target.closest("th");
      if (!heading || !event.target.closest("button")) return;
      const column = heading.cellIndex;
      const up = heading.getAttribute("aria-sort") === "descending" ||
        (!heading.hasAttribute("aria-sort") && heading.classList.contains("words"));
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      for (const body of table.tBodies) {
        const rows = Array.from(body.rows).filter((row) => !row.classList.contains("divider"))
          .map((row) => [valueOf(row.cells[column]), row]);
        rows.sort(([a], [b]) => {
          if (a === null || b === null) return (a === null) - (b === null);
          const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
          return up ? order : -order;
        });
        body.append(...rows.map(([, row]) => row));
      }
    });
  };
  document.querySelectorAll("table.sortable").forEach(sortable);
  document.querySelectorAll(".show-published").forEach((box) => {
    box.checked = false;
    box.addEventListener("change", () => box.closest("main > section").classList.toggle("hide-published", !box.checked));
  });

  // Charts: drawn when they come into view, and again when the theme or their width changes.
  const { config, dark: darkColours } = read("theme-data");
  const recoloured = (node) => {
    if (typeof node === "string") return darkColours[node] ?? node;
    if (Array.isArray(node)) return node.map(recoloured);
    if (node && typeof node === "object")
      return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, key === "datasets" || key === "values" ? value : recoloured(value)]));
    return node;
  };
  const LEGEND_ENTRY = 190, NARROW = 720;
  const withColumns = (node, columns) => {
    // Entries of a legend are as wide as their wrapped labels: a narrow chart has fewer columns.
    if (node && typeof node === "object") {
      if (node.orient === "bottom" && node.type !== "gradient") node.columns = Math.min(node.columns ?? columns, columns);
      for (const [key, value] of Object.entries(node)) if (key !== "datasets") withColumns(value, columns);
    }
  };
  const drawn = new Map();
  const draw = async (place) => {
    const earlier = drawn.get(place.id);
    if (earlier === null) return; // It is being drawn, and will see below what has changed.
    drawn.set(place.id, null);
    delete place.dataset.drawn;
    if (earlier) earlier.finalize();
    const width = place.clientWidth, colours = root.dataset.theme;
    place.dataset.width = width;
    let { spec } = read(`${place.id}-data`);
    let settings = config;
    if (colours === "dark") [spec, settings] = [recoloured(spec), recoloured(config)];
    withColumns(spec, Math.max(1, Math.floor((width - 20) / LEGEND_ENTRY)));
    // A legend begins where the plot does, right of the labels of the axis. In a narrow chart it ends where the plot does, and is not cut.
    if (width < NARROW) settings = { ...settings, legend: { ...settings.legend, layout: { bottom: { anchor: "end" } } } };
    const result = await vegaEmbed(place, spec, {
      actions: false, ast: true, renderer: "svg", config: settings, defaultStyle: false, tooltip: { theme: colours },
    });
    for (const part of place.querySelectorAll("svg [role], svg[role]")) { part.removeAttribute("role"); part.removeAttribute("aria-roledescription"); part.removeAttribute("aria-label"); }
    const svg = place.querySelector("svg");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", place.closest("figure").querySelector("strong").textContent);
    place.querySelectorAll(".vega-bindings select").forEach((menu) => menu.setAttribute("aria-label", "Run"));
    place.style.minHeight = "";
    drawn.set(place.id, result);
    if (place.clientWidth !== width || root.dataset.theme !== colours) draw(place);
    else place.dataset.drawn = "true";
  };
  const charts = document.querySelectorAll(".chart");
  const seen = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (!entry.isIntersecting) return;
    seen.unobserve(entry.target);
    draw(entry.target);
  }), { rootMargin: "600px" });
  charts.forEach((place) => seen.observe(place));
  addEventListener("beforeprint", () => charts.forEach((place) => drawn.has(place.id) || draw(place)));
  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => charts.forEach((place) => {
      if (drawn.get(place.id) && Number(place.dataset.width) !== place.clientWidth) draw(place);
    }), 150);
  });

  // A chart as a picture has the light theme: papers are white.
  document.querySelectorAll("button.save").forEach((button) => button.addEventListener("click", async () => {
    const place = button.closest("figure").querySelector(".chart");
    const { spec } = read(`${place.id}-data`);
    withColumns(spec, 3);
    const shown = drawn.get(place.id)?.view;
    for (const param of spec.params ?? [])
      if (param.bind && shown && typeof param.value === "string") param.value = shown.signal(param.name);
    spec.width = 640;
    delete spec.autosize;
    const { view } = await vegaEmbed(make("div"), spec, {
      actions: false, ast: true, renderer: "svg", config: { ...config, background: "white" }, defaultStyle: false,
    });
    const name = place.dataset.name;
    if (button.dataset.format === "svg") save(`${name}.svg`, await view.toSVG(), "image/svg+xml");
    else (await view.toCanvas(2)).toBlob((picture) => save(`${name}.png`, picture, "image/png"), "image/png");
    view.finalize();
  }));

  const setTheme = () => {
    root.dataset.theme = theme.value === "auto" ? (dark.matches ? "dark" : "light") : theme.value;
    charts.forEach((place) => drawn.has(place.id) && draw(place));
  };
  theme.addEventListener("change", setTheme);
  dark.addEventListener("change", setTheme);
  setTheme();

  // The data of every chart: as a table, and as a CSV file.
  const shown = (value) => value === null ? "–" : typeof value === "number" && !Number.isInteger(value) ? value.toFixed(4) : value;
  const quoted = (value) => {
    const text = value === null ? "" : String(value);
    // A spreadsheet would read text with such a first character as a formula.
    const safe = typeof value === "string" && /^[=+@\t\r-]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  document.querySelectorAll("details.data").forEach((details) => details.addEventListener("toggle", () => {
    const { columns, rows } = read(`${details.dataset.for}-data`);
    const table = make("table", null, { class: "sortable" });
    const head = table.createTHead().insertRow();
    columns.forEach((column, i) => {
      const cell = make("th", null, { scope: "col", class: rows.some((row) => typeof row[i] === "number") ? "number" : "words" });
      cell.append(make("button", column, { type: "button" }));
      head.append(cell);
    });
    const body = table.createTBody();
    for (const row of rows) {
      const line = body.insertRow();
      row.forEach((value, i) => {
        const cell = make("td", shown(value), { class: head.cells[i].className });
        if (value !== null) cell.dataset.value = value;
        line.append(cell);
      });
    }
    sortable(table);
    const tools = make("div", null, { class: "tools" });
    const csv = make("button", "Save as CSV", { type: "button" });
    const name = document.getElementById(details.dataset.for).dataset.name;
    csv.addEventListener("click", () =>
      save(`${name}.csv`, [columns, ...rows].map((row) => row.map(quoted).join(",")).join("\r\n"), "text/csv"));
    tools.append(csv, make("span", `${rows.length} rows`));
    const scroll = make("div", null, { class: "scroll", tabindex: "0", role: "region", "aria-label": `Data: ${name}` });
    scroll.append(table);
    details.append(tools, scroll);
  }, { once: true }));

  return { make, read };
})();
