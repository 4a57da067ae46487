"use strict";
// The controls that `open` adds to the page of a run. What stands on the page is found by its data attributes
// (data-conversation, data-turn, data-key); what the server says and what people typed is text, never markup.
//
//   state    what the server said: the answers to look at, labels, choices
//   drawn    when the words were said that stand on the page as the report has them
//   words    what the team says, by place (conversation and turn); every write sends what was seen before
//   panels   the controls below an answer, made when they are needed
(() => {
  const JUDGED = ["right", "wrong", "unsure"];
  const CHOSEN = ["cause", "status"];
  const TYPED = ["correct_answer", "expect", "comment"];
  const NOTHING = { judge_is: null, make_test: false };
  const store = { name: "rehearsal name", undo: "undo" };
  const words = new Map();
  const drawn = new Map();
  const panels = new Map();
  let state, people, current, dialogs, bar;

  // --- Small tools ---

  const $ = (selector, within = document) => within.querySelector(selector);
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
  const label = (name, values = {}) =>
    Object.entries(values).reduce((text, [key, value]) => text.replace(`{${key}}`, value), state.labels[name] || name);
  const placeOf = (element) => `${element.dataset.turn} ${element.dataset.conversation}`;
  const place = (answer) => `${answer.turn} ${answer.conversation}`;
  const said = (at, field) => words.get(at)?.[field] ?? NOTHING[field] ?? (field in NOTHING ? NOTHING[field] : "");
  const titleOf = (field, value) => state.choices[field]?.find(([id]) => id === value)?.[1] ?? value;

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") element.addEventListener(name, value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== undefined));
    return element;
  }

  const key = (letter) => make("kbd", { "aria-hidden": "true" }, letter);
  const button = (name, click, more = {}, ...after) =>
    make("button", { type: "button", click, ...more }, label(name), ...after);

  function time(moment) {
    const at = new Date(moment);
    const day = at.toDateString() === new Date().toDateString() ? {} : { month: "short", day: "numeric" };
    return at.toLocaleString(state.language, { ...day, hour: "numeric", minute: "2-digit" });
  }

  function today() {
    const now = new Date();
    const parts = [now.getFullYear(), now.getMonth() + 1, now.getDate()];
    return parts.map((n) => String(n).padStart(2, "0")).join("-");
  }

  const who = (word) => [word.by || label("sheet"), word.at && time(word.at)].filter(Boolean).join(" · ");

  // --- What is typed and not saved yet: it outlives a reload, and a server that has gone ---

  const draftKey = (at, field) => `draft ${state.run} ${at} ${field}`;
  const draft = (at, field) => JSON.parse(sessionStorage.getItem(draftKey(at, field)) || "null");
  const forget = (at, field) => sessionStorage.removeItem(draftKey(at, field));

  function keep(at, field, now) {
    const was = draft(at, field)?.was ?? said(at, field);
    if (was === now) forget(at, field);
    else sessionStorage.setItem(draftKey(at, field), JSON.stringify({ was, now }));
  }

  // --- Writing: one after the other, each with what was seen ---

  let queue = Promise.resolve();
  const post = (address, body) => fetch(address, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });

  async function askedName() {
    if (!localStorage.getItem(store.name)) await dialogs.name.ask();
    return localStorage.getItem(store.name) || "";
  }

  function write(at, changes, isUndo = false) {
    queue = queue.then(() => written(at, changes, isUndo));
    return queue;
  }

  async function written(at, changes, isUndo) {
    const by = await askedName();
    if (!by) return nameless(at, changes);
    const turn = Number(at.slice(0, at.indexOf(" ")));
    note(at, "saving");
    // What this tab wrote just before is what was seen last.
    changes = Object.fromEntries(Object.entries(changes)
      .map(([field, { was, now }]) => [field, { was: draft(at, field)?.was ?? was, now }]));
    let reply;
    try {
      reply = await post("words", { conversation: at.slice(at.indexOf(" ") + 1), turn, by, changes });
    } catch {
      return unsaved(at, changes, label("gone"));
    }
    if (reply.status === 409) return conflict(at, changes, (await reply.json()).current);
    if (!reply.ok) return unsaved(at, changes, (await reply.json().catch(() => ({}))).error || label("gone"));
    const { words: counted } = await reply.json();
    for (const [field, { now }] of Object.entries(changes)) {
      const later = draft(at, field)?.now ?? now;
      forget(at, field);
      if (later !== now) sessionStorage.setItem(draftKey(at, field), JSON.stringify({ was: now, now: later }));
    }
    if (!isUndo) remember({ at, changes });
    take(counted);
    note(at, isUndo ? "undone" : "saved", new Intl.ListFormat(state.language).format(Object.keys(changes).map((field) => label(field))));
    return true;
  }

  // Choices are kept like texts that were not saved: nothing that somebody did is gone without a word.
  function unsaved(at, changes, why) {
    for (const [field, { now }] of Object.entries(changes)) keep(at, field, now);
    note(at, "unsaved", why, () => write(at, changes));
    refresh();
    return false;
  }

  // Without a name nothing is saved: a choice goes, what was typed stays in its field.
  function nameless(at, changes) {
    for (const field of Object.keys(changes)) if (!TYPED.includes(field)) forget(at, field);
    note(at, "unsaved", label("name_first"), () => write(at, changes));
    refresh();
    return false;
  }

  function take(counted) {
    for (const word of counted) words.set(place(word), word);
    refresh();
  }

  const stack = () => JSON.parse(sessionStorage.getItem(`${store.undo} ${state.run}`) || "[]");
  const restack = (steps) => sessionStorage.setItem(`${store.undo} ${state.run}`, JSON.stringify(steps.slice(-200)));
  const remember = (step) => restack([...stack(), step]);

  function undo() {
    const steps = stack();
    const step = steps.pop();
    if (!step) return announce(label("nothing_to_undo"));
    restack(steps);
    const back = Object.entries(step.changes).map(([field, { was, now }]) => [field, { was: now, now: was }]);
    const there = elementAt(step.at);
    if (there) go(there);
    return write(step.at, Object.fromEntries(back), true);
  }

  // --- The controls below an answer ---

  class Panel {
    constructor(host) {
      this.host = host;
      this.at = placeOf(host);
      this.fields = new Map();
      const name = label("say");
      this.judged = JUDGED.map((value, n) => make("button", {
        type: "button", "aria-pressed": "false", "data-value": value, class: "work-judge",
        "aria-keyshortcuts": String(n + 1), click: () => this.judge(value),
      }, titleOf("judge_is", value), key(n + 1)));
      this.status = make("p", { class: "work-said", role: "status" });
      this.conflict = make("div", { class: "work-conflict", hidden: true });
      this.difference = make("p", { class: "work-difference", hidden: true });
      this.more = make("details", { class: "work-more" },
        make("summary", {}, label("more")),
        ...TYPED.flatMap((field) => [this.typed(field), field === "correct_answer" ? this.difference : undefined]));
      this.element = make("div", { class: "work", role: "group", "aria-label": name, lang: state.language },
        make("div", { class: "work-row", role: "group", "aria-label": label("judge_is") },
          make("b", {}, label("judge_is")), ...this.judged),
        make("div", { class: "work-row" },
          ...CHOSEN.map((field) => this.chosen(field)), this.owner(), this.test()),
        this.more, this.again(), this.conflict, this.status);
      host.append(this.element);
      panels.set(host, this);
      for (const field of this.fields.keys()) if (draft(this.at, field) && TYPED.includes(field)) this.more.open = true;
      this.refresh();
      offerLeft(this.at);
      if (draft(this.at, "correct_answer")) this.compare();
    }

    // One conversation more with the same customer: what it costs is said before, and Enter agrees.
    again() {
      this.asked = make("p", { class: "work-asked", role: "status", keydown: (event) => {
        if (event.key === "Escape") { event.stopPropagation(); this.dropAgain(); }
      } });
      this.anew = make("div", { class: "work-again", tabindex: "-1" });
      this.asks = button("again", () => this.askAgain(false), { "aria-keyshortcuts": "g" }, key("g"));
      return make("div", {}, this.asks, this.asked, this.anew);
    }

    dropAgain() {
      this.asked.replaceChildren();
      this.asks.focus();
    }

    async askAgain(agreed) {
      this.asked.textContent = agreed ? label("asking") : "";
      if (agreed) this.asks.focus();
      const reply = await post("again", { conversation: this.host.dataset.conversation, agreed }).catch(() => undefined);
      const { cost, error } = (await reply?.json().catch(() => undefined)) || { error: label("gone") };
      const go = cost && button("again_go", () => this.askAgain(true));
      this.asked.replaceChildren(error || (cost ? label("again_cost", { cost }) : ""),
        ...(cost ? [" ", go, " ", button("cancel", () => this.dropAgain())] : []));
      go?.focus();
    }

    // The old conversation and the new one side by side, turn by turn, with what differs in the answers.
    showAgain() {
      const held = state.again.filter(({ conversation }) => conversation === this.host.dataset.conversation).at(-1);
      if (!held || this.held === held.at) return;
      this.held = held.at;
      const said = (turn) => (turn
        ? [make("p", { class: "work-user" }, turn.user), make("p", { class: "work-text" }, turn.error || turn.answer)]
        : [make("p", { class: "work-none" }, label("again_none"))]);
      const column = (title, turns, at) => make("div", { role: "group", "aria-label": title }, make("b", {}, title), ...said(turns[at]));
      const titles = [label("again_before"), label("again_at", { when: time(held.at) })];
      const both = [held.before, held.turns];
      const most = Math.max(...both.map((turns) => turns.length));
      this.anew.replaceChildren(...Array.from({ length: most }, (_, at) =>
        make("div", { class: "work-pair" }, ...titles.map((title, side) => column(title, both[side], at)))));
      held.turns.forEach((turn, at) => this.differ(turn, held.before[at], $$(".work-pair", this.anew)[at]));
    }

    async differ(turn, before, pair) {
      if (!before || turn.error || before.error) return;
      if (turn.answer === before.answer) return $$(".work-text", pair)[1].replaceChildren(label("again_same"));
      const asked = { conversation: this.host.dataset.conversation, turn: before.turn, text: turn.answer };
      const reply = await post("difference", asked).catch(() => undefined);
      if (!reply?.ok) return undefined;
      const { pieces } = await reply.json();
      const painted = (kept) => pieces.filter(([kind]) => !kind || kind === kept)
        .map(([kind, piece]) => (kind ? make(kind, {}, piece) : document.createTextNode(piece)));
      return $$(".work-text", pair).forEach((text, side) => text.replaceChildren(...painted(side ? "ins" : "del")));
    }

    labelled(field, control, shortcut) {
      this.fields.set(field, control);
      control.dataset.field = field;
      control.setAttribute("aria-keyshortcuts", shortcut);
      control.addEventListener("change", () => this.save(field));
      return make("label", { class: `work-${field}` }, make("span", {}, label(field), key(shortcut)), control);
    }

    chosen(field) {
      const choices = state.choices[field];
      const likely = field === "cause" && choices.find(([value]) => value === this.host.dataset.cause);
      const options = [["", "–"], ...(likely ? [likely] : []), ...choices.filter((choice) => choice !== likely)].map(([value, title]) => make("option", { value }, title));
      return this.labelled(field, make("select", {}, ...options), SHORTCUT[field]);
    }

    owner() {
      return this.labelled("assignee", make("input", {
        type: "text", list: "work-people", autocomplete: "off", maxlength: "80",
        input: (event) => keep(this.at, "assignee", event.target.value),
      }), SHORTCUT.assignee);
    }

    test() {
      return this.labelled("make_test", make("input", { type: "checkbox" }), SHORTCUT.make_test);
    }

    typed(field) {
      const area = make("textarea", {
        rows: "2", maxlength: "20000",
        input: () => {
          keep(this.at, field, area.value);
          this.mark(field);
          if (field === "correct_answer") this.compare(300);
        },
      });
      return this.labelled(field, area, SHORTCUT[field]);
    }

    judge(value) {
      const was = said(this.at, "judge_is");
      const now = value === (draft(this.at, "judge_is")?.now ?? was) ? null : value;
      keep(this.at, "judge_is", now);
      return write(this.at, { judge_is: { was, now } });
    }

    valueOf(field) {
      const control = this.fields.get(field);
      return control.type === "checkbox" ? control.checked : control.value;
    }

    save(field) {
      const now = this.valueOf(field);
      const was = draft(this.at, field)?.was ?? said(this.at, field);
      if (now === was) return forget(this.at, field);
      keep(this.at, field, now);
      return write(this.at, { [field]: { was, now } });
    }

    mark(field) {
      this.fields.get(field).classList.toggle("work-unsaved", Boolean(draft(this.at, field)));
    }

    refresh() {
      this.showAgain();
      dropDrawn(this.host);
      const word = words.get(this.at);
      for (const each of this.judged) each.setAttribute("aria-pressed", String(each.dataset.value === word?.judge_is));
      for (const [field, control] of this.fields) {
        if (control === document.activeElement && control.type !== "checkbox") continue;
        const value = draft(this.at, field)?.now ?? said(this.at, field);
        if (control.type === "checkbox") control.checked = value;
        else {
          if (control.tagName === "SELECT" && value && !$$("option", control).some((option) => option.value === value)) {
            control.append(make("option", { value }, value));
          }
          control.value = value;
        }
        this.mark(field);
      }
      if (TYPED.some((field) => said(this.at, field)) && !this.shown) this.shown = this.more.open = true;
      if (said(this.at, "correct_answer") && this.difference.hidden) this.compare();
      this.element.classList.toggle("work-done", Boolean(word?.judge_is));
      const { kind, at } = this.status.dataset;
      if (!kind || (["saved", "undone"].includes(kind) && at !== word?.at)) this.tell(word?.at || word?.by ? "last" : "");
    }

    // What the answer lacks and has too much, beside the right one; the server compares.
    compare(wait = 0) {
      clearTimeout(this.waiting);
      this.waiting = setTimeout(async () => {
        const text = this.valueOf("correct_answer");
        const { conversation, turn } = this.host.dataset;
        this.difference.hidden = !text.trim();
        if (!text.trim()) return;
        const reply = await post("difference", { conversation, turn: Number(turn), text }).catch(() => undefined);
        if (!reply?.ok || text !== this.valueOf("correct_answer")) return;
        const { pieces } = await reply.json();
        this.difference.replaceChildren(make("small", {}, `${label("difference")} `),
          ...pieces.map(([kind, piece]) => (kind ? make(kind, {}, piece) : document.createTextNode(piece))));
      }, wait);
    }

    tell(kind, why, again) {
      this.status.dataset.kind = kind === "last" ? "" : kind;
      const word = words.get(this.at);
      this.status.dataset.at = word?.at ?? "";
      const text = { saving: label("saving"), saved: word && label("saved", { who: who(word) }),
        undone: label("undone", { what: why }), unsaved: label("unsaved", { why }), last: word && label("last", { who: who(word) }) }[kind] || "";
      this.status.replaceChildren(text, ...(again ? [" ", button("retry", again)] : []));
    }
  }

  const SHORTCUT = {
    cause: "c", status: "x", assignee: "o", make_test: "t", correct_answer: "a", expect: "e", comment: "m",
  };

  // Turns of conversations have a button, and controls once it is pressed: a page has thousands of them.
  function panelOf(host) {
    if (!panels.has(host)) {
      $(".work-open", host)?.remove();
      new Panel(host);
    }
    return panels.get(host);
  }

  function offer(talk) {
    for (const turn of $$(".turn[data-key]", talk)) {
      if (panels.has(turn) || $(".work-open", turn)) continue;
      const opened = () => { select(turn); panelOf(turn).judged[0].focus(); };
      turn.append(make("button", { type: "button", class: "work-open", click: opened }));
      summarise(turn);
    }
  }

  // The report's own line of what the team says goes once something else is said: the controls say that.
  function dropDrawn(host) {
    const at = placeOf(host);
    if (words.get(at)?.at !== drawn.get(at)) $(".words", host)?.remove();
  }

  function summarise(turn) {
    dropDrawn(turn);
    const opens = $(".work-open", turn);
    const word = words.get(placeOf(turn));
    const judged = word?.judge_is ? titleOf("judge_is", word.judge_is) : "";
    if (opens) opens.textContent = judged ? `${judged} · ${who(word)}` : label("say");
  }

  // What was not saved when the page was left, choices among it.
  function offerLeft(at) {
    const left = ["judge_is", "make_test", "assignee", ...CHOSEN, ...TYPED]
      .map((field) => [field, draft(at, field)]).filter(([, kept]) => kept);
    if (!left.length) return;
    same(at, (panel) => unfold(panel.host));
    note(at, "unsaved", label("left"), () => write(at, Object.fromEntries(left)));
  }

  const same = (at, act) => { for (const panel of panels.values()) if (panel.at === at) act(panel); };
  const note = (at, kind, why, again) => same(at, (panel) => panel.tell(kind, why, again));

  function conflict(at, changes, theirs) {
    for (const [field, { now }] of Object.entries(changes)) keep(at, field, now);
    const value = (word, field) => word?.[field] ?? NOTHING[field] ?? "";
    const text = (field, given) =>
      (typeof given === "boolean" ? label(given ? "yes" : "no") : titleOf(field, given)) || label("empty");
    const settle = (own) => {
      same(at, (panel) => { panel.conflict.hidden = true; panel.tell(""); });
      for (const field of Object.keys(changes)) forget(at, field);
      if (theirs) take([theirs]);
      const mine = Object.entries(changes).map(([field, { now }]) => [field, { was: value(theirs, field), now }]);
      if (own) write(at, Object.fromEntries(mine));
      refresh();
    };
    const there = elementAt(at);
    if (there) panelOf(there);
    same(at, (panel) => {
      const rows = Object.entries(changes).filter(([field, { was }]) => value(theirs, field) !== was);
      panel.conflict.replaceChildren(
        make("p", {}, make("b", {}, label("conflict", { who: theirs ? who(theirs) : "?" }))),
        ...rows.map(([field, { now }]) => make("dl", {},
          make("dt", {}, label("field", { name: label(field), text: label("theirs") })), make("dd", {}, text(field, value(theirs, field))),
          make("dt", {}, label("field", { name: label(field), text: label("mine") })), make("dd", {}, text(field, now)))),
        make("p", { class: "work-row" }, button("keep_theirs", () => settle(false)), button("write_mine", () => settle(true))));
      panel.conflict.hidden = false;
      panel.tell("unsaved", label("nothing_overwritten"));
      panel.conflict.scrollIntoView({ block: "nearest" });
    });
    return false;
  }

  // --- From answer to answer ---

  // The card of an answer, or the turn in its conversation, which a large page makes when it is needed.
  const cards = new Map($$(".reddest [data-key]").reverse().flatMap((card) => [[card.dataset.key, card], [placeOf(card), card]]));
  function elementAt(at) {
    const talk = document.getElementById(state.talks[at.slice(at.indexOf(" ") + 1)]);
    if (cards.has(at) || !talk) return cards.get(at);
    talk.dispatchEvent(new Event("make", { bubbles: true }));
    const turn = $$(".turn[data-key]", talk).find((element) => placeOf(element) === at);
    return turn && (cards.get(turn.dataset.key) || turn);
  }

  function fits(at) {
    const word = words.get(at);
    const mine = localStorage.getItem(store.name) || "";
    return {
      all: true, open: !word?.judge_is, mine: Boolean(mine) && word?.assignee === mine, disputed: word?.judge_is === "wrong",
    }[bar.filter.value];
  }

  function select(host) {
    current?.classList.remove("work-now");
    current = host;
    current.classList.add("work-now");
    progress();
  }

  function unfold(host) {
    for (let up = host; up; up = up.parentElement) {
      up.hidden = false;
      if (up.tagName === "DETAILS") up.open = true;
    }
  }

  function go(host) {
    unfold(host);
    select(host);
    panelOf(host);
    host.tabIndex = -1;
    host.focus({ preventScroll: true });
    host.scrollIntoView({ block: host.offsetHeight > innerHeight * 0.7 ? "start" : "center" });
  }

  // An answer that several turns have may stand on a card of another of them.
  const position = () => state.answers.findIndex(({ at, element }) =>
    current && (element === current || at === placeOf(current)));

  // Below what a link that leads there leaves free at the top, and above the bar.
  function inSight(host) {
    const { top, bottom } = (host.checkVisibility() ? host : host.closest(".question, .talk")).getBoundingClientRect();
    const margin = Number.parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop);
    return bottom > margin && top < bar.element.getBoundingClientRect().top;
  }

  // Where n and p go on: from the selected answer, or from another one that the reader has come to.
  function from(by) {
    if (current && inSight(current)) return position();
    const list = state.answers;
    const come = $$(".reddest [data-key], .turn[data-key]").filter((host) => host.matches("li") || host.checkVisibility())
      .find((host) => inSight(host) && list.some(({ key }) => key === host.dataset.key));
    if (!come) return position();
    const at = list.findIndex(({ key }) => key === come.dataset.key);
    // A card in sight is the next one; a turn was read, and its card is elsewhere.
    return by > 0 && come.matches("li") ? at - 1 : at;
  }

  // Without a filter the next one of all; a judged answer does not come again under "open".
  function step(by) {
    const here = from(by);
    const list = state.answers;
    for (let n = 1; n <= list.length; n += 1) {
      const to = (((here < 0 && by < 0 ? 0 : here) + by * n) % list.length + list.length) % list.length;
      if (!fits(list[to].at)) continue;
      list[to].element ??= elementAt(list[to].at);
      if (list[to].element) return go(list[to].element);
    }
    return announce(label("none_left"));
  }

  function refresh() {
    for (const panel of panels.values()) panel.refresh();
    for (const opens of $$(".work-open")) summarise(opens.parentElement);
    people.replaceChildren(...[...new Set([localStorage.getItem(store.name), ...[...words.values()]
      .flatMap((word) => [word.assignee, word.source === "page" ? word.by : ""])])]
      .filter(Boolean).map((value) => make("option", { value })));
    progress();
  }

  function progress() {
    const list = state.answers;
    const judged = list.filter(({ at }) => words.get(at)?.judge_is).length;
    const here = position() + 1;
    bar.at.textContent = label("judged", { n: judged, of: list.length }) + (here ? ` · ${label("here", { n: here })}` : "");
    bar.name.replaceChildren(make("span", {}, localStorage.getItem(store.name) || label("no_name")));
    const decided = state.decision.verdict;
    const decision = decided ? label("field", { name: label("decision"), text: titleOf("decision", decided) }) : label("decision");
    bar.decision.replaceChildren(make("span", {}, decision), key("d"));
    $("#decision").hidden = !decided;
    $("#decision b").textContent = state.decided;
    for (const card of $$(".reddest [data-key]")) card.classList.toggle("work-out", !fits(placeOf(card)));
    bar.filtered.textContent = bar.filter.value === "all" ? "" : label("filtered", { n: list.filter(({ at }) => fits(at)).length, of: list.length });
    if (bar.filtered.textContent) bar.at.textContent = bar.filtered.textContent;
    document.documentElement.classList.toggle("work-filter", Boolean(bar.filtered.textContent));
  }

  function announce(text) {
    bar.news.textContent = text;
    clearTimeout(announce.waiting);
    announce.waiting = setTimeout(() => { bar.news.textContent = ""; }, 6000);
  }

  // --- Dialogs, the bar, keys ---

  function dialog(title, fill, save) {
    const form = make("form", { method: "dialog" }, make("h2", {}, label(title)));
    const element = make("dialog", { class: "work-dialog", "aria-label": label(title), lang: state.language }, form);
    fill(form);
    form.append(make("p", { class: "work-row" },
      make("button", { value: "save", class: "work-first" }, label(save ? "save" : "close")),
      save ? make("button", { value: "", formnovalidate: true }, label("cancel")) : undefined));
    document.body.append(element);
    return {
      element,
      ask: () => new Promise((done) => {
        element.returnValue = "";
        element.showModal();
        element.addEventListener("close", () => {
          if (element.returnValue === "save" && save) save();
          done(element.returnValue === "save");
        }, { once: true });
      }),
    };
  }

  function nameDialog() {
    const input = make("input", { type: "text", required: true, maxlength: "80", list: "work-people", autocomplete: "name" });
    return dialog("name_title", (form) => form.append(make("p", {}, label("name_why")), make("label", {}, label("name"), input)),
      () => { localStorage.setItem(store.name, input.value.trim()); refresh(); });
  }

  function decisionDialog() {
    const options = [["", "–"], ...state.choices.decision].map(([value, title]) => make("option", { value }, title));
    const verdict = make("select", {}, ...options);
    const by = make("input", { type: "text", maxlength: "80", list: "work-people" });
    const reason = make("textarea", { rows: "3", maxlength: "20000" });
    const on = make("input", { type: "date" });
    // Only a decision that is taken back needs no name, reason and day.
    const ask = () => { for (const field of [by, reason, on]) field.required = Boolean(verdict.value); };
    verdict.addEventListener("change", ask);
    const news = make("p", { class: "work-said", role: "status" });
    let seen;
    // What was found stands where it is decided on, and that it was a trial.
    const result = $$(".banner, .hero .card > .verdict").map(({ textContent }) => make("p", {}, textContent));
    const decided = dialog("decision", (form) => form.append(...result, news,
      make("label", {}, label("decision"), verdict), make("label", {}, label("approver"), by),
      make("label", {}, label("why"), reason), make("label", {}, label("decided"), on)), async () => {
      const now = verdict.value
        ? { verdict: verdict.value, by: by.value.trim(), on: on.value, reason: reason.value.trim() }
        : { verdict: "", by: "", on: "", reason: "" };
      const reply = await post("decision", { was: seen, now }).catch(() => undefined);
      if (reply?.ok) {
        Object.assign(state, { decision: now }, await reply.json());
        announce(label("decision_saved"));
        return progress();
      }
      const other = reply?.status === 409 ? (await reply.json()).current || { verdict: "", by: "", on: "", reason: "" } : undefined;
      if (other) state.decision = other;
      open(now, other ? label("decision_other", { what: [titleOf("decision", other.verdict), other.by, other.on, other.reason]
        .filter(Boolean).join(" · ") || label("empty") }) : label("unsaved", { why: label("gone") }));
      return undefined;
    });
    function open(values, why = "") {
      seen = { ...state.decision };
      [verdict.value, by.value, reason.value] = [values.verdict, values.by || localStorage.getItem(store.name) || "", values.reason];
      on.value = values.on || today();
      ask();
      news.textContent = why;
      return decided.ask();
    }
    return { element: decided.element, ask: () => open(state.decision) };
  }

  function helpDialog() {
    return dialog("keys", (form) => form.append(make("dl", { class: "work-keys" },
      ...Object.entries(HELP).flatMap(([name, letters]) => [
        make("dt", {}, ...letters.split(" ").map(key)), make("dd", {}, label(name))]))));
  }

  function makeBar() {
    const filters = ["all", "open", "mine", "disputed"].map((value) => make("option", { value }, label(`filter_${value}`)));
    const made = {
      at: make("output", { class: "work-at" }),
      news: make("output", { class: "work-news" }),
      run: make("p", { class: "work-run", role: "status", hidden: true }),
      filter: make("select", { "aria-label": label("filter"), "aria-keyshortcuts": "f", change: filter }, ...filters),
      filtered: make("p", { class: "work-filtered", role: "status", lang: state.language }),
      decision: button("decision", () => dialogs.decision.ask(), { "aria-keyshortcuts": "d", class: "work-cut" }),
      name: make("button", { type: "button", class: "work-name work-cut", "aria-label": label("name"), click: () => dialogs.name.ask() }),
    };
    made.element = make("aside", { class: "work-bar", "aria-label": label("bar"), lang: state.language },
      made.run, made.news,
      make("div", { class: "work-row" },
        button("previous", () => step(-1), { "aria-keyshortcuts": "p" }, key("p")),
        button("next", () => step(1), { "aria-keyshortcuts": "n", class: "work-first" }, key("n")),
        made.at, made.filter, button("undo", undo, { "aria-keyshortcuts": "u" }, key("u"))),
      make("div", { class: "work-row" }, made.decision,
        button("keys", () => dialogs.help.ask(), { "aria-keyshortcuts": "?", class: "work-help" }, key("?")), made.name,
        make("a", { href: "blind.html" }, label("blind")), make("a", { href: "../" }, label("runs"))));
    document.body.append(made.element);
    $("#reddest")?.after(made.filtered);
    return made;
  }

  function focusField(field) {
    if (!current) step(1);
    if (!current) return;
    const panel = panelOf(current);
    if (TYPED.includes(field)) panel.more.open = true;
    const control = panel.fields.get(field);
    if (control.type === "checkbox") control.click();
    else control.focus();
    // What is typed next replaces a name; into longer texts people add.
    if (control.tagName === "INPUT") control.select();
  }

  // What is left is in sight at once, and so is that nothing is.
  function filter() {
    announce("");
    refresh();
    if (bar.filtered.textContent) bar.filtered.scrollIntoView();
  }

  function cycleFilter() {
    const { options } = bar.filter;
    bar.filter.selectedIndex = (bar.filter.selectedIndex + 1) % options.length;
    filter();
  }

  const KEYS = {
    n: () => step(1), p: () => step(-1), u: undo, g: () => (current ? panelOf(current).askAgain(false) : step(1)), f: cycleFilter, d: () => dialogs.decision.ask(), "?": () => dialogs.help.ask(),
    ...Object.fromEntries(JUDGED.map((value, n) => [n + 1, () => (current ? panelOf(current).judge(value) : step(1))])),
    ...Object.fromEntries(Object.entries(SHORTCUT).map(([field, letter]) => [letter, () => focusField(field)])),
  };
  const HELP = {
    next: "n", previous: "p", key_judge: "1 2 3", cause: "c", correct_answer: "a", expect: "e", comment: "m", assignee: "o",
    status: "x", make_test: "t", key_again: "g", decision: "d", undo: "u", filter: "f", key_leave: "Esc", key_done: "Ctrl+Enter", keys: "?",
  };

  // Before the page's own keys: its n goes from red turn to red turn in the conversations.
  function pressed(event) {
    if (event.isComposing || event.altKey || $("dialog[open]")) return;
    const typing = event.target.closest("input:not([type=checkbox]), textarea, select");
    if (typing && typing.closest(".work") && (event.key === "Escape" || (event.key === "Enter" && (event.ctrlKey || event.metaKey)))) {
      event.preventDefault();
      typing.blur();
      const host = typing.closest("[data-key]");
      if (event.key === "Enter") step(1);
      else host.focus({ preventScroll: true });
      return;
    }
    if (typing || event.ctrlKey || event.metaKey || !KEYS[event.key]) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    KEYS[event.key]();
  }

  // --- What others write, and how far a run has come ---

  function listen() {
    const events = new EventSource("events");
    events.addEventListener("message", (event) => {
      const news = JSON.parse(event.data);
      Object.assign(state, news);
      follow();
      const places = new Set(news.words.map(place));
      for (const at of words.keys()) if (!places.has(at)) words.delete(at);
      take(news.words);
    });
    events.addEventListener("open", () => bar.element.classList.remove("work-gone"));
    events.addEventListener("error", () => {
      bar.element.classList.add("work-gone");
      announce(label("gone"));
    });
  }

  // A run in progress: how far it is; the page follows by itself until somebody does something on it.
  let touched = false;
  function follow() {
    const was = follow.ended ?? state.ended;
    follow.ended = state.ended;
    bar.run.hidden = !state.running && !follow.running;
    if (bar.run.hidden) return;
    bar.run.replaceChildren(state.running ? label("running", { n: state.ended, of: state.planned }) : label("finished"),
      " ", button("show", () => location.reload()));
    const isNew = state.ended !== was || (follow.running && !state.running);
    follow.running = follow.running || state.running;
    if (isNew && !touched && !document.hidden) location.reload();
  }

  async function start() {
    state = await (await fetch("state")).json();
    people = make("datalist", { id: "work-people" });
    document.body.append(people);
    bar = makeBar();
    dialogs = { name: nameDialog(), decision: decisionDialog(), help: helpDialog() };
    for (const word of state.words) {
      words.set(place(word), word);
      drawn.set(place(word), word.at);
    }
    for (const answer of state.answers) {
      answer.at = place(answer);
      answer.element = cards.get(answer.key);
    }
    // As the cards stand on the page, by fix; then what has no card, the worst first.
    const standing = [...cards.values()].reverse();
    const order = ({ element }) => (element ? standing.indexOf(element) : standing.length);
    state.answers.sort((one, other) => order(one) - order(other));
    for (const card of $$(".reddest [data-key]")) panelOf(card);
    document.addEventListener("toggle", (event) => {
      if (event.target.matches?.(".talk") && event.target.open) offer(event.target);
    }, true);
    for (const talk of $$(".talk[open]")) offer(talk);
    document.addEventListener("focusin", (event) => {
      const host = event.target.closest(".work")?.closest("[data-key]");
      if (host && host !== current) select(host);
    });
    window.addEventListener("keydown", pressed, true);
    for (const kind of ["keydown", "pointerdown", "wheel"]) {
      window.addEventListener(kind, () => { touched = true; }, { capture: true, passive: true });
    }
    refresh();
    follow();
    listen();
    document.documentElement.classList.add("work-ready");
  }

  start();
})();
