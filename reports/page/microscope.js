"use strict";
// Samples: a list with filters in words, and one sample with all of its steps.
(() => {
  const { make } = page;
  const PAGE = 25, LONG = 1800;
  const FINDINGS = {
    e: "exact", r: "right", h: "right", a: "early", l: "late", m: "missed", f: "false alarm", w: "wrong", p: "partly right",
    o: "no such step", u: "unread", n: "not recorded", x: "ended in an error", " ": "not in this run",
  };
  const RIGHT = "erh", WRONG = "almfwpoun";
  // What a filter may say of a run.
  const WORDS = {
    right: RIGHT, wrong: WRONG, exact: "e", early: "a", late: "l", missed: "m", "false alarm": "f", unread: "u",
    "not recorded": "n", "no such step": "o", error: "x", errored: "x", partly: "p",
  };

  // Parts of the page are gzip in Base64. Each is unpacked when it is needed.
  const parts = new Map();
  const unpack = (id) => {
    if (!parts.has(id)) {
      parts.set(id, (async () => {
        const element = document.getElementById(id);
        if (!element) return null;
        const text = atob(element.textContent);
        const bytes = new Uint8Array(text.length);
        for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
        const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
        return JSON.parse(await new Response(stream).text());
      })());
    }
    return parts.get(id);
  };

  // Formulas are MathML. Only known elements and attributes are copied into the page.
  const MATHML = "http://www.w3.org/1998/Math/MathML";
  const TAGS = new Set("math mrow mi mn mo mtext mfrac msup msub msubsup msqrt mroot mtable mtr mtd mover munder munderover mspace mstyle mpadded mphantom mmultiscripts mprescripts none".split(" "));
  const ATTRIBUTES = new Set("stretchy fence form width linebreak mathvariant lspace rspace accent accentunder separator minsize maxsize movablelimits displaystyle scriptlevel linethickness symmetric display".split(" "));
  const copied = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return document.createTextNode(node.data);
    const boxed = node.localName === "menclose";
    const element = document.createElementNS(MATHML, TAGS.has(node.localName) ? node.localName : "mrow");
    if (boxed) element.setAttribute("class", "boxed");
    for (const { name, value } of node.attributes) {
      if (ATTRIBUTES.has(name) && /^[\w.#%+-]*$/.test(value)) element.setAttribute(name, value);
      if (name === "style" && /text-align: ?(left|right|center)/.test(value)) element.style.textAlign = /text-align: ?(\w+)/.exec(value)[1];
    }
    for (const child of node.childNodes)
      if (child.nodeType === Node.TEXT_NODE || child.nodeType === Node.ELEMENT_NODE) element.append(copied(child));
    return element;
  };
  const parser = new DOMParser();
  const formula = ([source, mathml]) => {
    const parsed = parser.parseFromString(mathml, "application/xml").documentElement;
    if (parsed.localName !== "math") return make("code", source);
    const element = copied(parsed);
    element.setAttribute("aria-label", source);
    return element;
  };
  const textBlock = (pieces, tag = "div") => {
    const block = make(tag, null, { class: "text-block" });
    for (const piece of pieces) block.append(typeof piece === "string" ? piece : formula(piece));
    return block;
  };

  const answerText = (run, i) => {
    const finding = run.findings[i], answer = run.answers[i];
    if (finding === " ") return "";
    if (finding === "x") return "error";
    if (answer === null) return "?";
    return answer === -1 ? "none" : String(answer).length > 9 ? `${String(answer).slice(0, 8)}…` : String(answer);
  };
  const verdictWords = (run, i) => {
    const finding = run.findings[i], answer = run.answers[i];
    if (finding === " " || finding === "x" || finding === "u" || finding === "n") return FINDINGS[finding];
    const said = answer === null ? "" : answer === -1 ? "no error" : typeof answer === "number" ? `step ${answer}` : answer;
    return said ? `${said}: ${FINDINGS[finding]}` : FINDINGS[finding];
  };
  const verdict = (run, i, text) => make("span", text ?? answerText(run, i), {
    class: `verdict f-${run.findings[i].trim() || "u"}`, title: `${run.name}: ${verdictWords(run, i)}` });
  const ordinal = (n) => `${n}${n % 100 > 10 && n % 100 < 14 ? "th" : ["th", "st", "nd", "rd"][n % 10] ?? "th"}`;
  const labelText = (index, i) => {
    const label = index.label[i];
    if (label === null) return index.target[i] ? `answer ${index.target[i]}` : "";
    if (label < 0) return "no error";
    return index.steps[i] ? `step ${label} (${ordinal(label + 1)} of ${index.steps[i]})` : `step ${label}`;
  };

  // "A right, B early": each term must hold. Terms that are no rule are searched in id, subset and problem.
  const compile = (text, index, pair) => {
    const tests = [], said = [];
    for (const raw of text.split(",")) {
      const term = raw.trim().toLowerCase().replace(/\s+/g, " ");
      if (!term) continue;
      const found = /^(?:(a|b|all|any|none|nobody|no run) )?(?:is |are )?(.+)$/.exec(term);
      const who = found[1] ?? "any", codes = WORDS[found[2]];
      if (codes) {
        const runs = who === "a" ? [index.runs[pair.a]] : who === "b" ? [index.runs[pair.b]] : index.runs;
        const hits = (i) => runs.filter((run) => codes.includes(run.findings[i])).length;
        const there = (i) => runs.filter((run) => run.findings[i] !== " ").length;
        if (who === "all") tests.push((i) => there(i) > 0 && hits(i) === there(i));
        else if (["none", "nobody", "no run"].includes(who)) tests.push((i) => there(i) > 0 && hits(i) === 0);
        else tests.push((i) => hits(i) > 0);
        said.push(`${who === "a" || who === "b" ? runs[0].name : who} ${found[2]}`);
      } else if (/^(runs )?differ$/.test(term)) {
        tests.push((i) => new Set(index.runs.filter((run) => run.findings[i] !== " ").map((run) => RIGHT.includes(run.findings[i]))).size > 1);
        said.push("some runs are right, some are wrong");
      } else if (/^((a|b) )?(reward )?drops( before( the)? label)?$/.test(term)) {
        const runs = term.startsWith("a ") ? [index.runs[pair.a]] : term.startsWith("b ") ? [index.runs[pair.b]] : index.runs;
        tests.push((i) => runs.some((run) => run.drops[i] === "1"));
        said.push("a reward before the label is below the threshold");
      } else {
        tests.push((i) => `${index.ids[i]} ${index.subsets[index.subset[i]]} ${index.text[i]}`.toLowerCase().includes(term));
        said.push(`“${raw.trim()}” in the id, the subset or the problem`);
      }
    }
    return { fits: (i) => tests.every((test) => test(i)), said: said.join("; ") };
  };

  const runMenu = (index, name, value, change, none) => {
    const label = make("label", null), menu = make("select", null, { "aria-label": `Run ${name}` });
    if (none) menu.append(make("option", "no second run", { value: "" }));
    index.runs.forEach((run, i) => menu.append(make("option", run.name, { value: i })));
    menu.value = value ?? "";
    menu.addEventListener("change", () => change(menu.value === "" ? null : Number(menu.value)));
    label.append(make("b", name), menu);
    return label;
  };

  const lenses = new Map();
  const start = async (section) => {
    const number = section.dataset.for, lens = section.querySelector(".lens");
    const index = await unpack(`samples-${number}-index`);
    const state = { number, index, pair: { a: 0, b: index.runs.length > 1 ? 1 : null }, order: [...index.ids.keys()], first: 0 };
    lenses.set(number, state);
    const search = make("input", null, { type: "search", placeholder: "A right, B early", "aria-label": "Filter samples in words" });
    const chips = make("div", null, { class: "chips" });
    const meaning = make("p", null, { class: "meaning", "aria-live": "polite" });
    const list = make("ul", null, { class: "list" });
    const pages = make("div", null, { class: "pages" });
    const back = make("button", "Back", { type: "button", class: "plain" }), next = make("button", "Next", { type: "button", class: "plain" });
    const where = make("span");
    pages.append(back, next, where);
    const present = new Set(index.runs.flatMap((run) => [...new Set(run.findings)]));
    const several = index.runs.length > 1;
    const suggestions = [
      ["A right, B wrong", several], ["A wrong, B right", several], ["A right, B early", several && present.has("a")],
      ["all wrong", true], ["all right", true], ["runs differ", several], ["A early", present.has("a")], ["A late", present.has("l")],
      ["A missed", present.has("m")], ["false alarm", present.has("f")], ["unread", present.has("u")], ["not recorded", present.has("n")], ["error", present.has("x")],
      ["reward drops before the label", index.runs.some((run) => run.drops.includes("1"))],
    ].filter(([, use]) => use).map(([text]) => text);
    for (const text of suggestions) {
      const chip = make("button", text, { type: "button", "aria-pressed": "false" });
      chip.addEventListener("click", () => { search.value = search.value === text ? "" : text; filter(); });
      chips.append(chip);
    }
    const rowOf = (i) => {
      const item = make("li"), button = make("button", null, { type: "button" });
      const answers = make("span", null, { class: "verdicts" });
      for (const run of index.runs) if (run.findings[i] !== " ") answers.append(verdict(run, i));
      button.append(make("b", index.ids[i]), make("span", labelText(index, i), { class: "label" }), make("span", index.text[i], { class: "text" }), answers);
      button.addEventListener("click", () => open(state, i));
      item.append(button);
      return item;
    };
    const show = () => {
      state.first = Math.max(0, Math.min(state.first, Math.floor((state.order.length - 1) / PAGE) * PAGE));
      list.replaceChildren(...state.order.slice(state.first, state.first + PAGE).map(rowOf));
      where.textContent = state.order.length ? `${state.first + 1} to ${Math.min(state.first + PAGE, state.order.length)} of ${state.order.length}` : "no sample";
      back.disabled = state.first === 0;
      next.disabled = state.first + PAGE >= state.order.length;
    };
    const filter = () => {
      const { fits, said } = compile(search.value, index, state.pair);
      state.order = [...index.ids.keys()].filter(fits);
      state.first = 0;
      meaning.textContent = said ? `${state.order.length} samples: ${said}.` : `${state.order.length} samples.`;
      for (const chip of chips.children) chip.setAttribute("aria-pressed", String(chip.textContent === search.value));
      show();
    };
    search.addEventListener("input", filter);
    back.addEventListener("click", () => { state.first -= PAGE; show(); });
    next.addEventListener("click", () => { state.first += PAGE; show(); });
    const pick = make("div", null, { class: "pick" });
    const menus = () => pick.replaceChildren(
      runMenu(index, "A", state.pair.a, (value) => { state.pair.a = value; filter(); }),
      ...(several ? [runMenu(index, "B", state.pair.b, (value) => { state.pair.b = value; filter(); }, true)] : []));
    state.refresh = () => { menus(); filter(); };
    menus();
    const legend = make("div", null, { class: "legend" });
    for (const code of "ehrpalmfwounx") {
      if (!present.has(code) || (code === "r" && present.has("h"))) continue;
      const entry = make("span", null, { class: `f-${code}` });
      entry.append(make("i"), FINDINGS[code]);
      legend.append(entry);
    }
    const ask = make("div", null, { class: "ask" });
    ask.append(search);
    lens.replaceChildren(pick, ask, chips, meaning, list, legend, pages);
    filter();
    setTimeout(() => unpack(`samples-${number}-solutions-0`), 200);
  };

  // One sample.
  const dialog = document.getElementById("sample");
  let current = null;
  const address = (state, i) => {
    const link = new URLSearchParams({ s: state.number, id: state.index.ids[i], a: state.pair.a });
    if (state.pair.b !== null) link.set("b", state.pair.b);
    return `#sample?${link}`;
  };
  const viewerAddress = (file, id) =>
    `${document.body.dataset.viewer}/#/logs/${file.split("/").map(encodeURIComponent).join("/")}/samples/sample/${encodeURIComponent(id)}/1/`;
  const goldOf = (gold) => gold === -1 ? ["wrong", "bad"] : gold === 1 ? ["right", "good"] : gold === 0 ? ["neutral", "open"] : ["", "open"];

  const rewardCell = (reward, threshold) => {
    const margin = reward - threshold, reach = Math.max(margin < 0 ? threshold : 1 - threshold, 0.05);
    const cell = make("span", reward.toFixed(3), { class: "reward", title: `reward ${reward}, threshold ${threshold}` });
    cell.style.setProperty("--heat", margin < 0 ? "var(--cold)" : "var(--warm)");
    cell.style.setProperty("--strength", String(12 + 48 * Math.min(1, Math.abs(margin) / reach)));
    return cell;
  };
  const saidAt = (state, i, place, details, step) => {
    const run = state.index.runs[place], cell = make("div", null, { class: "said", "data-run": run.name });
    if (run.answers[i] === step && typeof step === "number") {
      const word = FINDINGS[run.findings[i]];
      cell.append(verdict(run, i, `${word}`));
    }
    const votes = details?.votes;
    if (votes) {
      const total = Object.values(votes).reduce((sum, one) => sum + one, 0), count = votes[String(step)] ?? 0;
      if (count) {
        const bar = make("span", null, { class: "vote", title: `${count} of ${total} votes` }), track = make("i");
        track.style.setProperty("--share", String(100 * count / total));
        bar.append(track, `${Number(count.toFixed(2))} of ${Number(total.toFixed(2))}`);
        cell.append(bar);
      }
    }
    const reward = details?.rewards?.[step];
    if (typeof reward === "number") cell.append(rewardCell(reward, run.threshold ?? 0.5));
    else if (details?.rewards && step >= 0 && step < (details.rewards.length || 0)) cell.append(make("span", "no reward", { class: "muted" }));
    const label = details?.labels?.[step];
    if (label !== undefined) cell.append(make("span", label === null ? "not judged" : `judged ${goldOf(label)[0]}`));
    return cell;
  };
  const stepRow = (state, i, sample, step, pieces, places, own) => {
    const gold = own ? undefined : sample.gold[step];
    const row = make("div", null, { class: `row${gold === -1 ? " wrong" : ""}`, role: "row" });
    const text = make("div", null, { role: "cell" });
    const block = textBlock(pieces);
    if (block.textContent.length > LONG) {
      block.classList.add("long");
      block.tabIndex = 0;
    }
    text.append(block);
    if (!own) {
      const chosen = make("div", null, { class: "chosen" });
      state.index.runs.forEach((run, place) => {
        if (run.answers[i] === step && !places.includes(place)) chosen.append(verdict(run, i, run.name));
      });
      if (chosen.children.length) text.append(chosen);
    }
    const [word, kind] = goldOf(gold);
    row.append(make("div", String(step), { class: "number", role: "rowheader" }), text, make("div", word, { class: `gold ${kind}`, role: "cell" }));
    for (const place of places) {
      const cell = saidAt(state, i, place, sample.said[place], step);
      cell.setAttribute("role", "cell");
      row.append(cell);
    }
    return row;
  };
  const numbered = (steps) => {
    // Some solutions print their own numbers, which begin at 1.
    const printed = steps.map((pieces) => /^\s*(?:step|section)?\s*(\d+)\s*[.:)]/i.exec(typeof pieces[0] === "string" ? pieces[0] : "")?.[1]);
    return printed.length > 1 && printed.filter((one, i) => Number(one) === i + 1).length > printed.length / 2;
  };
  const panel = async (state, i, place, details, body) => {
    const run = state.index.runs[place], box = make("div", null, { class: "panel" });
    box.append(make("h3", run.name), make("p", `${run.protocol ? `${run.protocol} · ` : ""}${verdictWords(run, i)}`));
    if (details?.error) box.append(make("p", details.error));
    const votes = details?.votes;
    if (votes) box.append(make("p", `Votes: ${Object.entries(votes).map(([answer, count]) => `${answer === "-1" ? "no error" : answer} × ${Number(count.toFixed(2))}`).join(", ")}`));
    const tools = make("div", null, { class: "tools" });
    if (run.words) {
      const button = make("button", "Show its words", { type: "button", "aria-expanded": "false" });
      button.addEventListener("click", async () => {
        if (state.words = button.getAttribute("aria-expanded") === "false") {
          const size = state.index.sizes.words;
          const chunk = await unpack(`samples-${state.number}-words-${place}-${Math.floor(i / size)}`);
          const words = chunk?.[i % size] ?? [];
          box.querySelectorAll(".text-block").forEach((old) => old.remove());
          words.forEach((text, k) => {
            box.append(textBlock(words.length > 1 ? [`Vote ${k + 1}\n`, ...text] : text));
          });
          if (!words.length) box.append(textBlock(["It wrote nothing."]));
        } else box.querySelectorAll(".text-block").forEach((old) => old.remove());
        button.setAttribute("aria-expanded", String(state.words));
        button.textContent = state.words ? "Hide its words" : "Show its words";
      });
      tools.append(button);
      if (state.words) queueMicrotask(() => button.click());
    }
    const link = make("a", "Log viewer", { target: "_blank", rel: "noopener noreferrer" });
    link.href = viewerAddress(run.file, state.index.ids[i]);
    tools.append(link);
    box.append(tools);
    body.append(box);
  };
  const open = async (state, i, keepAddress = false) => {
    const began = performance.now();
    current = { state, i };
    const { index } = state, size = index.sizes.solutions;
    const chunk = await unpack(`samples-${state.number}-solutions-${Math.floor(i / size)}`);
    if (current?.state !== state || current.i !== i) return; // Closed, or another one was opened.
    const sample = chunk[i % size];
    const places = [state.pair.a, ...(state.pair.b !== null && state.pair.b !== state.pair.a ? [state.pair.b] : [])];
    const frame = make("div", null, { class: "sample" }), head = make("header"), bar = make("div", null, { class: "bar" });
    const title = make("h2", index.ids[i], { id: "sample-title" });
    const at = state.order.indexOf(i);
    const keys = make("div", null, { class: "keys" });
    const button = (text, action, label, usable = true) => {
      const one = make("button", text, { type: "button", class: "plain", "aria-label": label });
      one.disabled = !usable;
      one.addEventListener("click", action);
      keys.append(one);
      return one;
    };
    keys.append(make("span", at >= 0 ? `${at + 1} of ${state.order.length}` : ""));
    button("← Back", () => move(-1), "Previous sample (left arrow)", at > 0);
    button("Next →", () => move(1), "Next sample (right arrow)", at < state.order.length - 1);
    const copy = button("Copy link", async () => {
      try { await navigator.clipboard.writeText(location.href); copy.textContent = "Copied"; } catch { copy.textContent = "The link is in the address bar"; }
    }, "Copy a link to this sample");
    button("Close", () => dialog.close(), "Close (Escape)");
    bar.append(title, keys);
    const about = [labelText(index, i), index.subsets[index.subset[i]], ...Object.entries(sample.facets).filter(([name]) => !["subset"].includes(name)).map(([name, value]) => `${name.replaceAll("_", " ")}: ${value}`)].filter(Boolean);
    head.append(bar, make("p", about.join(" · "), { class: "muted" }));
    const pick = make("div", null, { class: "pick" });
    pick.append(runMenu(index, "A", state.pair.a, (value) => { state.pair.a = value; open(state, i); }));
    if (index.runs.length > 1) pick.append(runMenu(index, "B", state.pair.b, (value) => { state.pair.b = value; open(state, i); }, true));
    head.append(pick);
    const body = make("div", null, { class: "body", tabindex: "0", role: "region", "aria-label": "Sample" });
    const problem = make("div", null, { class: "problem" });
    problem.append(textBlock(sample.problem));
    body.append(problem);
    const table = (steps, shown, own) => {
      const grid = make("div", null, { class: "steps", role: "table", "aria-label": own ? `Solution of ${index.runs[shown[0]].name}` : "Steps" });
      const first = make("div", null, { class: "row head", role: "row" });
      for (const text of ["", own ? `Solution of ${index.runs[shown[0]].name}` : "Step", own ? "" : "Label", ...shown.map((place) => index.runs[place].name)]) first.append(make("div", text, { role: "columnheader" }));
      while (first.children.length < 5) first.append(make("div", "", { role: "columnheader" }));
      grid.append(first);
      steps.forEach((pieces, step) => grid.append(stepRow(state, i, sample, step, pieces, shown, own)));
      if (!own && index.label[i] !== null) grid.append(stepRow(state, i, { ...sample, gold: { [-1]: index.label[i] < 0 ? 1 : undefined } }, -1, ["No error"], shown, own));
      body.append(grid);
    };
    if (sample.steps.length) {
      if (numbered(sample.steps)) body.append(make("p", "Steps are counted from 0. This solution prints numbers from 1: step 0 is printed as 1.", { class: "note" }));
      table(sample.steps, places, false);
      const last = body.querySelector(".steps .row:last-child .number");
      if (last?.textContent === "-1") last.textContent = "–";
    }
    for (const place of places) if (sample.said[place]?.steps?.length) table(sample.said[place].steps, [place], true);
    const everyone = make("ul", null, { class: "everyone", "aria-label": "What each run said" });
    index.runs.forEach((run) => {
      if (run.findings[i] === " ") return;
      const item = make("li");
      item.append(verdict(run, i), make("span", run.name));
      everyone.append(item);
    });
    body.append(everyone);
    const panels = make("div", null, { class: `panels${places.length === 1 ? " one" : ""}` });
    for (const place of places) panel(state, i, place, sample.said[place], panels);
    body.append(panels);
    frame.append(head, body);
    dialog.replaceChildren(frame);
    if (!dialog.open) dialog.showModal();
    // The last lines of a long text are the step itself; the evidence is above them.
    dialog.querySelectorAll(".long").forEach((block) => { block.scrollTop = block.scrollHeight; });
    body.focus();
    if (!keepAddress) history.replaceState(null, "", address(state, i));
    dialog.dataset.milliseconds = String(performance.now() - began);
    dialog.dataset.id = index.ids[i];
    // The neighbours are unpacked while this sample is read.
    for (const near of [at - 1, at + 1]) if (state.order[near] !== undefined) unpack(`samples-${state.number}-solutions-${Math.floor(state.order[near] / size)}`);
  };
  const move = (by) => {
    const { state, i } = current, next = state.order[state.order.indexOf(i) + by];
    if (next !== undefined) open(state, next);
  };
  dialog.addEventListener("close", () => {
    history.replaceState(null, "", location.pathname + location.search);
    current?.state.refresh();
    current = null;
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.target.closest("select, input") || event.altKey || event.ctrlKey || event.metaKey) return;
    const by = { ArrowRight: 1, ArrowLeft: -1, j: 1, k: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    move(by);
  });

  // A link opens at its sample.
  const follow = () => {
    if (!location.hash.startsWith("#sample?")) return;
    const wanted = new URLSearchParams(location.hash.slice("#sample?".length));
    const state = lenses.get(wanted.get("s")), i = state?.index.ids.indexOf(wanted.get("id"));
    if (!state || i < 0) return;
    const place = (name) => { const value = Number(wanted.get(name)); return wanted.has(name) && state.index.runs[value] ? value : null; };
    state.pair = { a: place("a") ?? 0, b: place("b") };
    open(state, i, true);
  };
  addEventListener("hashchange", follow);
  addEventListener("DOMContentLoaded", async () => {
    await Promise.all(Array.from(document.querySelectorAll("section.microscope"), start));
    document.documentElement.dataset.ready = "true";
    follow();
  });
})();
