"use strict";
// Blind grading: one answer of the sample at a time. All texts are text, never markup.
(() => {
  const NAME = "rehearsal name";
  const $ = (selector) => document.querySelector(selector);
  const steps = [];
  let state, at = 0, queue = Promise.resolve();

  const label = (name, values = {}) =>
    Object.entries(values).reduce((text, [key, value]) => text.replace(`{${key}}`, value), state.labels[name]);

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") element.addEventListener(name, value);
      else if (value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  const key = (letter) => make("kbd", { "aria-hidden": "true" }, letter);
  const mine = (row) => state.grades[row.key] || { grade: null, comment: "" };
  const draft = (row) => `blind ${state.run} ${row.key}`;
  const name = () => (localStorage.getItem(NAME) || "").trim();
  const say = (text, kind = "") => { ui.said.textContent = text; ui.said.dataset.kind = kind; };

  function write(row, now, isUndo = false) {
    if (!name()) {
      say(label("name_first"), "unsaved");
      ui.name.focus();
      return;
    }
    const was = mine(row);
    if (was.grade === now.grade && was.comment === now.comment) return;
    state.grades[row.key] = now;
    const by = name();
    show();
    say(label("saving"));
    queue = queue.then(async () => {
      const reply = await fetch("grades", {
        method: "POST", headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ key: row.key, by, ...now, was }),
      }).catch(() => undefined);
      if (reply?.ok) {
        sessionStorage.removeItem(draft(row));
        if (!isUndo) steps.push({ row, was });
        state.grades[row.key] = now;
        show();
        const what = label(now.grade === was.grade ? "comment" : "grade");
        return say(isUndo ? label("undone", { what }) : label("saved"), "saved");
      }
      const answer = await reply?.json().catch(() => undefined);
      const { grade = null, comment = "" } = answer?.current || {};
      const other = reply?.status === 409 ? { grade, comment } : undefined;
      state.grades[row.key] = other || was;
      if (now.comment !== was.comment) sessionStorage.setItem(draft(row), now.comment);
      show();
      const why = other ? label("same_name", { name: by }) : answer?.error || label("gone");
      return say(label("unsaved", { why }), "unsaved");
    });
  }

  function comment() {
    const row = state.answers[at];
    write(row, { ...mine(row), comment: ui.comment.value.trim() });
  }

  function grade(value) {
    const row = state.answers[at];
    const now = { grade: mine(row).grade === value ? null : value, comment: ui.comment.value.trim() };
    write(row, now);
  }

  function undo() {
    queue = queue.then(() => {
      const step = steps.pop();
      if (!step) return say(label("nothing_to_undo"));
      at = state.answers.indexOf(step.row);
      return void write(step.row, step.was, true);
    });
  }

  function step(by) {
    const there = Math.min(Math.max(at + by, 0), state.answers.length - 1);
    if (there === at) return;
    at = there;
    say("");
    show();
    window.scrollTo(0, 0);
  }

  const ui = {};
  function build() {
    const button = (text, letter, click) =>
      make("button", { type: "button", click, "aria-keyshortcuts": letter }, label(text), key(letter));
    ui.texts = make("div", { class: "work-blind", "aria-live": "polite" });
    ui.grades = [5, 4, 3, 2, 1].map((value) => make("button", {
      type: "button", class: "work-judge", "aria-pressed": "false", "aria-keyshortcuts": String(value), "data-value": value,
      click: () => grade(value),
    }, make("b", {}, String(value)), " ", label(value)));
    ui.comment = make("textarea", { rows: "2", maxlength: "20000", "aria-keyshortcuts": "m", change: comment,
      input: () => sessionStorage.setItem(draft(state.answers[at]), ui.comment.value) });
    ui.said = make("p", { class: "work-said", role: "status" });
    ui.name = make("input", { type: "text", maxlength: "80", autocomplete: "name", change: named });
    ui.name.value = name();
    ui.at = make("output", { class: "work-at" });
    // The passages come last: an answer is read and graded without scrolling past them.
    ui.passages = make("div", { class: "work-blind" });
    $("main").append(ui.texts, make("div", { class: "work" },
      make("label", {}, make("span", {}, label("comment"), key("m")), ui.comment)), ui.passages);
    document.body.append(make("aside", { class: "work-bar work", "aria-label": label("title") },
      ui.said, make("div", { class: "work-grades", role: "group", "aria-label": label("grade") }, ...ui.grades),
      make("div", { class: "work-row" }, button("previous", "p", () => step(-1)), button("next", "n", () => step(1)),
        ui.at, button("undo", "u", undo), make("label", {}, make("span", {}, label("name")), ui.name),
        make("a", { href: "./" }, label("report")))));
  }

  function show() {
    const row = state.answers[at];
    const { grade: given, comment: text } = mine(row);
    const drawn = (...parts) => parts.filter((part) => row[part])
      .flatMap((part) => [make("h2", {}, label(part)), make("p", { class: "work-text", "data-part": part }, row[part])]);
    ui.texts.replaceChildren(...drawn("earlier", "question", "answer"));
    ui.passages.replaceChildren(...drawn("passages"));
    for (const each of ui.grades) each.setAttribute("aria-pressed", String(Number(each.dataset.value) === given));
    if (ui.comment !== document.activeElement) ui.comment.value = sessionStorage.getItem(draft(row)) ?? text;
    const done = state.answers.filter((each) => mine(each).grade).length;
    const of = state.answers.length;
    ui.at.textContent = `${label("here", { n: at + 1, of })} · ${label("graded", { n: done, of })}`;
  }

  const load = async () => (await fetch(`blind?by=${encodeURIComponent(name())}`)).json();

  // Another name has grades of its own, and takes back none of somebody else's.
  function named() {
    localStorage.setItem(NAME, ui.name.value.trim());
    say("");
    steps.length = 0;
    queue = queue.then(async () => {
      state.grades = (await load()).grades;
      show();
    });
  }

  const KEYS = {
    n: () => step(1), p: () => step(-1), u: undo, m: () => ui.comment.focus(),
    ...Object.fromEntries([1, 2, 3, 4, 5].map((value) => [value, () => grade(value)])),
  };

  function pressed(event) {
    if (event.isComposing || event.altKey) return;
    if (event.target.closest("input, textarea")) {
      const isDone = event.key === "Enter" && (event.ctrlKey || event.metaKey);
      const isNamed = event.key === "Enter" && event.target === ui.name;
      if (event.key !== "Escape" && !isDone && !isNamed) return;
      event.target.blur();
      if (isDone) step(1);
    } else if (event.ctrlKey || event.metaKey || !KEYS[event.key]) return;
    else KEYS[event.key]();
    event.preventDefault();
  }

  async function start() {
    state = await load();
    if (state.answers.length) {
      build();
      const left = state.answers.findIndex((row) => !mine(row).grade);
      at = Math.max(left, 0);
      show();
      window.addEventListener("keydown", pressed);
    } else $("main").append(make("p", {}, label("no_sample")));
    document.documentElement.classList.add("work-ready");
  }

  start();
})();
