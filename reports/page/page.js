"use strict";
(() => {
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

  // Tables: a click on a heading sorts; a second click reverses the order.
  const valueOf = (cell) => {
    const text = cell.dataset.value ?? cell.textContent;
    return text === "" || text === "–" ? null : isNaN(text) ? text : Number(text);
  };
  const sortable = (table) => {
    table.tHead.addEventListener("click", (event) => {
      const heading = event.target.closest("th");
      if (!heading || !event.target.closest("button")) return;
      const column = heading.cellIndex, body = table.tBodies[0];
      const up = heading.getAttribute("aria-sort") === "descending" ||
        (!heading.hasAttribute("aria-sort") && heading.classList.contains("words"));
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = Array.from(body.rows, (row) => [valueOf(row.cells[column]), row]);
      rows.sort(([a], [b]) => {
        if (a === null || b === null) return (a === null) - (b === null);
        const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
        return up ? order : -order;
      });
      body.append(...rows.map(([, row]) => row));
    });
  };
  document.querySelectorAll("table.sortable").forEach(sortable);
  document.querySelectorAll(".show-published").forEach((box) => box.addEventListener("change", () =>
    box.closest("section").classList.toggle("hide-published", !box.checked)));

  // Charts: drawn when they come into view, and drawn again when the theme changes.
  const config = (width) => {
    const is = root.dataset.theme === "dark";
    const ink = is ? "#e6e9ee" : "#1b1f26", muted = is ? "#98a2b3" : "#667085", line = is ? "#2a313c" : "#e8ebf0";
    const limit = width < 520 ? 118 : 260;
    return {
      background: null, font: "system-ui, -apple-system, Segoe UI, Roboto, sans-serif",
      view: { stroke: null },
      axis: { labelColor: muted, titleColor: muted, titleFontWeight: 500, gridColor: line, domainColor: line,
        tickColor: line, labelFontSize: 11.5, titleFontSize: 12, labelOverlap: true },
      axisY: { labelLimit: limit },
      legend: { labelColor: ink, titleColor: muted, labelFontSize: 11.5, symbolStrokeWidth: 0, symbolOpacity: 1, labelLimit: Math.min(340, width - 60) },
      rect: { stroke: line, strokeWidth: 0.5 }, range: { heatmap: is ? ["#161b22", "#8fb0ff"] : ["#f5f7fa", "#3557c0"] },
    };
  };
  const drawn = new Map();
  const limited = (node, limit) => {
    // An axis has its own limit for labels; on a narrow screen labels must leave room for the marks.
    if (node && typeof node === "object") {
      if (typeof node.labelLimit === "number") node.labelLimit = Math.min(node.labelLimit, limit);
      if (node.orient === "bottom" && limit < 200) node.columns = node.columns ? 1 : 2;
      if (node.scheme === "blues") { delete node.scheme; node.range = "heatmap"; }
      Object.values(node).forEach((child) => limited(child, limit));
    }
    return node;
  };
  const draw = async (place) => {
    const earlier = drawn.get(place.id);
    drawn.set(place.id, null);
    if (earlier) earlier.finalize();
    const width = place.clientWidth;
    const { spec } = read(`${place.id}-data`);
    limited({ ...spec, datasets: null }, width < 520 ? 118 : 340);
    const result = await vegaEmbed(place, spec, {
      actions: false, ast: true, renderer: "svg", config: config(width), defaultStyle: false,
      tooltip: { theme: root.dataset.theme },
    });
    drawn.set(place.id, result);
    place.dataset.drawn = "true";
  };
  const charts = document.querySelectorAll(".chart");
  const seen = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (!entry.isIntersecting) return;
    seen.unobserve(entry.target);
    draw(entry.target);
  }), { rootMargin: "600px" });
  charts.forEach((place) => seen.observe(place));
  addEventListener("beforeprint", () => charts.forEach((place) => drawn.has(place.id) || draw(place)));

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
      const cell = make("th", null, { class: rows.some((row) => typeof row[i] === "number") ? "number" : "words" });
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
    const save = make("button", "Save as CSV", { type: "button" });
    save.addEventListener("click", () => {
      const text = [columns, ...rows].map((row) => row.map(quoted).join(",")).join("\r\n");
      const link = make("a", null, { download: `${details.dataset.for}.csv` });
      link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
      link.click();
      URL.revokeObjectURL(link.href);
    });
    tools.append(save, make("span", `${rows.length} rows`));
    const scroll = make("div", null, { class: "scroll", tabindex: "0" });
    scroll.append(table);
    details.append(tools, scroll);
  }, { once: true }));

  // Samples: in pages of 50, with a link to the log viewer for every answer.
  const PAGE = 50;
  const parts = (path) => path.split("/").map(encodeURIComponent).join("/");
  const address = (file, id) =>
    `${document.body.dataset.viewer}/#/logs/${parts(file)}/samples/sample/${encodeURIComponent(id)}/1/`;
  document.querySelectorAll("details.samples").forEach((details) => details.addEventListener("toggle", () => {
    const { runs, rows } = read(details.dataset.for);
    const tools = make("div", null, { class: "tools" });
    const search = make("input", null, { type: "search", placeholder: "id, subset or problem", "aria-label": "Search samples" });
    const which = make("select", null, { "aria-label": "Which samples" });
    for (const [value, text] of [["all", "all samples"], ["differ", "runs differ"], ["miss", "all runs wrong"], ["hit", "all runs right"]])
      which.append(make("option", text, { value }));
    const back = make("button", "Back", { type: "button" }), next = make("button", "Next", { type: "button" });
    const where = make("span");
    tools.append(search, which, back, next, where);
    const table = make("table");
    const head = table.createTHead().insertRow();
    for (const text of ["Sample", "Subset", "Target", "Problem", ...runs.map((run) => run.name)]) head.append(make("th", text, { class: "words" }));
    const body = table.createTBody();
    const scroll = make("div", null, { class: "scroll", tabindex: "0" });
    scroll.append(table);
    details.append(tools, scroll);
    let first = 0;
    const kept = () => {
      const words = search.value.trim().toLowerCase();
      return rows.filter(([id, subset, , text, answers]) => {
        const hits = answers.filter((one) => one && one[1] !== null).map((one) => one[1]);
        const fits = { all: true, differ: new Set(hits).size > 1, miss: hits.length && hits.every((hit) => hit < 1), hit: hits.length && hits.every((hit) => hit === 1) };
        return fits[which.value] && (!words || `${id} ${subset} ${text}`.toLowerCase().includes(words));
      });
    };
    const show = () => {
      const found = kept();
      first = Math.max(0, Math.min(first, Math.floor((found.length - 1) / PAGE) * PAGE));
      body.replaceChildren(...found.slice(first, first + PAGE).map(([id, subset, target, text, answers]) => {
        const line = make("tr");
        line.append(make("th", id, { scope: "row", class: "words" }), make("td", subset), make("td", target), make("td", text, { class: "text" }));
        answers.forEach((answer, i) => {
          const cell = make("td");
          if (answer) {
            const [verdict, hit] = answer;
            const link = make("a", `${verdict} ${hit === 1 ? "✓" : hit === null || hit === 0 ? "✗" : hit}`, { target: "_blank", rel: "noopener noreferrer", class: hit === 1 ? "hit" : "miss" });
            link.href = address(runs[i].file, id);
            cell.append(link);
          }
          line.append(cell);
        });
        return line;
      }));
      where.textContent = found.length ? `${first + 1} to ${Math.min(first + PAGE, found.length)} of ${found.length}` : "none";
      back.disabled = first === 0;
      next.disabled = first + PAGE >= found.length;
    };
    search.addEventListener("input", () => { first = 0; show(); });
    which.addEventListener("change", () => { first = 0; show(); });
    back.addEventListener("click", () => { first -= PAGE; show(); });
    next.addEventListener("click", () => { first += PAGE; show(); });
    show();
  }, { once: true }));
})();
