"use strict";
const NO_ERROR = -1;
const get = (id) => document.getElementById(id);
const state = { list: null, place: -1, item: null, chosen: NO_ERROR, sides: true, busy: false };

async function call(path) {
  const reply = await fetch(path);
  if (!reply.ok) throw new Error(`The server answered ${reply.status}.`);
  return reply.json();
}

// Synchronous: the page handles no other event, such as the release of the key, until the decision is on disk.
function save(decision) {
  const request = new XMLHttpRequest();
  request.open("POST", "decision", false);
  request.setRequestHeader("Content-Type", "application/json");
  try { request.send(JSON.stringify(decision)); } catch { throw new Error("The server does not answer. Rerun the command and open its address."); }
  let content = {};
  try { content = JSON.parse(request.responseText); } catch { /* The status says what is wrong. */ }
  if (request.status !== 200) throw new Error(content.problem || `The server answered ${request.status}.`);
  return content;
}

function tell(text) { get("message").textContent = text; }

function annotator() { return get("annotator").value.trim(); }

async function start() {
  const name = annotator();
  if (!name && !(state.list && state.list.adjudicate)) { tell("Write your name first."); get("annotator").focus(); return; }
  sessionStorage.setItem("annotator", name);
  state.list = await call(`items/${encodeURIComponent(name)}`);
  get("type").replaceChildren(option("", "not named"), ...state.list.types.map((type) => option(type, type)));
  tell("");
  await show(next(-1, 1, true));
}

function option(value, text) {
  const made = document.createElement("option");
  made.value = value;
  made.textContent = text;
  return made;
}

function wanted(entry, openOnly) {
  const filter = openOnly ? "open" : get("filter").value;
  if (filter === "open") return !entry.decision;
  if (filter === "decided") return Boolean(entry.decision);
  if (filter === "doubtful") return entry.doubtful && (!openOnly || !entry.decision);
  return true;
}

function next(from, by, openOnly) {
  const items = state.list.items;
  for (let place = from + by; place >= 0 && place < items.length; place += by) {
    if (wanted(items[place], false) && wanted(items[place], openOnly)) return place;
  }
  return openOnly ? next(from, by, false) : -1;
}

async function show(place) {
  const items = state.list.items;
  if (place < 0) {
    if (!state.item) get("item").hidden = true;
    progress();
    tell(items.length ? "No further item here." : "There is nothing to review.");
    return;
  }
  const entry = items[place];
  const item = await call(`item/${encodeURIComponent(entry.id)}`);
  Object.assign(state, { place, item });
  const decision = entry.decision;
  state.chosen = decision && decision.decision !== "reject" ? decision.label : item.label === undefined ? NO_ERROR : item.label;
  get("type").value = (decision ? decision.error_type : item.error_type) || "";
  get("note").value = decision ? decision.note : "";
  get("name").textContent = `${place + 1} of ${items.length}: ${item.id}` + (decision ? ` — decided: ${words(decision)}` : "");
  get("problem").innerHTML = item.problem;
  get("hints").hidden = item.label === undefined;
  get("accept").hidden = item.label === undefined;
  get("original").hidden = !(item.original && item.original.length);
  if (item.label !== undefined) about(item);
  draw();
  get("item").hidden = false;
  window.scrollTo(0, 0);
  progress();
}

// The last thing that changes: keys before it are dropped, so that nobody decides an unseen item.
function progress() {
  const { items, adjudicate, blind } = state.list;
  const done = items.filter((entry) => entry.decision).length;
  get("progress").textContent = `${done} of ${items.length} decided` + (adjudicate ? ", adjudication" : blind ? ", blind" : "");
  state.busy = false;
}

function words(decision) {
  if (decision.decision === "reject") return "rejected";
  return decision.label === NO_ERROR ? "no error" : `step ${decision.label}`;
}

function line(text) {
  const made = document.createElement("p");
  made.textContent = text;
  return made;
}

function about(item) {
  const lines = [line(item.label === NO_ERROR ? "Label: no error." : `Label: step ${item.label}` + (item.error_type ? `, ${item.error_type}.` : "."))];
  for (const [name, verdict] of Object.entries(item.critics)) {
    lines.push(line(`${name}: ${verdict === null ? "unread" : verdict === NO_ERROR ? "no error" : `step ${verdict}`}`));
  }
  for (const [name, other] of Object.entries(item.others)) {
    const rating = other.rating === "-1" ? "no error" : other.rating === "rejected" ? "rejected" : `step ${other.rating}`;
    lines.push(line(`${name}: ${rating}${other.type ? `, ${other.type}` : ""}${other.note ? ` — ${other.note}` : ""}`));
  }
  if (item.why) {
    const why = document.createElement("p");
    why.innerHTML = item.why;
    lines.push(why);
  }
  get("about").replaceChildren(...lines);
}

function cell(html, kind) {
  const made = document.createElement("div");
  made.className = kind;
  made.innerHTML = html;
  return made;
}

function draw() {
  const { item } = state;
  const sides = state.sides && item.original && item.original.length;
  const rows = Math.max(item.steps.length, sides ? item.original.length : 0);
  const made = [];
  for (let index = 0; index < rows; index += 1) {
    const row = document.createElement("div");
    row.className = "step" + (sides ? " sides" : "") + (item.label === index ? " labelled" : "") + (state.chosen === index ? " chosen" : "");
    row.append(cell(String(index), "index"));
    if (sides) row.append(cell(item.original[index] || "", "cell before"));
    row.append(cell(item.steps[index] || "", "cell"));
    if (index < item.steps.length) row.addEventListener("click", () => choose(index));
    made.push(row);
  }
  get("heading").textContent = sides ? "Original and solution" : "Solution";
  get("solution").replaceChildren(...made);
  get("set").firstChild.textContent = state.chosen === NO_ERROR ? "No error " : `Step ${state.chosen} is the first wrong one `;
}

function choose(index) {
  state.chosen = Math.max(NO_ERROR, Math.min(state.item.steps.length - 1, index));
  draw();
  const chosen = document.querySelector(".step.chosen");
  if (chosen) chosen.scrollIntoView({ block: "nearest" });
}

async function decide(kind, label) {
  if (state.busy || !state.item) return;
  state.busy = true;
  try {
    const decision = save({
      item: state.item.id, annotator: annotator() || "adjudicator", decision: kind, label,
      error_type: label === NO_ERROR ? null : get("type").value || null, note: get("note").value,
    });
    state.list.items[state.place].decision = decision;
    tell("");
    await show(next(state.place, 1, true));
  } catch (problem) {
    tell(`Not saved: ${problem.message}`);
  } finally {
    state.busy = false;
  }
}

const ACTIONS = {
  a: () => state.item.label !== undefined && decide("accept", state.item.label),
  Enter: () => decide("correct", state.chosen),
  e: () => decide("correct", NO_ERROR),
  x: () => decide("reject", state.item.label === undefined ? NO_ERROR : state.item.label),
  b: () => move(-1), ArrowLeft: () => move(-1),
  s: () => move(1), ArrowRight: () => move(1),
  ArrowUp: () => choose(state.chosen - 1), k: () => choose(state.chosen - 1),
  ArrowDown: () => choose(state.chosen + 1), j: () => choose(state.chosen + 1),
  t: () => get("type").focus(),
  n: () => get("note").focus(),
  o: () => { state.sides = !state.sides; draw(); },
};

async function move(by) {
  if (state.busy) return;
  state.busy = true;
  try { tell(""); await show(next(state.place, by, false)); } catch (problem) { tell(problem.message); } finally { state.busy = false; }
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select");
  if (typing) {
    if (event.key === "Escape" || (event.key === "Enter" && event.target.id !== "note")) {
      event.target.blur();
      if (event.target.id === "annotator") start().catch((problem) => tell(problem.message));
      event.preventDefault();
    }
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat && event.key === "Enter") return;
  const onButton = event.target.closest("button") && (event.key === "Enter" || event.key === " ");
  const action = ACTIONS[event.key];
  if (!action || !state.item || onButton) return;
  event.preventDefault();
  action();
});

for (const [id, key] of [["accept", "a"], ["set", "Enter"], ["none", "e"], ["reject", "x"], ["back", "b"], ["skip", "s"], ["original", "o"]]) {
  get(id).addEventListener("click", () => ACTIONS[key]());
}
get("filter").addEventListener("change", () => state.list && show(next(-1, 1, false)).catch((problem) => tell(problem.message)));
get("annotator").addEventListener("change", () => start().catch((problem) => tell(problem.message)));
get("annotator").value = new URLSearchParams(location.search).get("annotator") || sessionStorage.getItem("annotator") || "";
start().catch((problem) => tell(problem.message));
