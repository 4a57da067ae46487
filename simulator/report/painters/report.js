"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const talks = [...document.querySelectorAll(".talk")];
  const tools = document.querySelector(".tools");
  const texts = new Map();
  const filters = ["search", "only", "persona", "judge", "ended", "severity"].map($);
  const fold = (text) => text.normalize("NFKC").toLowerCase();
  const fill = (text, n, all) => text.replace("##", all.toLocaleString()).replace("#", n.toLocaleString());
  // What is said in the conversations of a large page comes as text, for readers without a script. It is made
  // when it is needed, or when there is time.
  function make(talk) {
    const lines = talk.querySelector(":scope > noscript");
    if (lines) lines.outerHTML = lines.textContent;
  }
  const waiting = talks.filter((talk) => talk.querySelector(":scope > noscript"));
  function makeMore(deadline) {
    while (waiting.length && deadline.timeRemaining() > 5) make(waiting.shift());
    if (waiting.length) requestIdleCallback(makeMore);
  }
  const element = (id) => {
    const talk = $(id.split("-")[0]);
    if (talk && talk.matches(".talk")) make(talk);
    return $(id);
  };
  // What is said in a talk; of one that is not made yet the text is read off, for making all takes seconds.
  const signs = { amp: "&", lt: "<", gt: ">", "#34": '"', "#39": "'" };
  function textOf(talk) {
    if (!texts.has(talk)) {
      const lines = talk.querySelector(":scope > noscript");
      const more = lines ? lines.textContent.replace(/<[^>]*>/g, "").replace(/&(#?\w+);/g, (all, name) => signs[name] ?? all) : "";
      texts.set(talk, fold(lines ? talk.querySelector("summary").textContent + more : talk.textContent));
    }
    return texts.get(talk);
  }
  const isSet = (filter) => (filter.type === "checkbox" ? filter.checked : filter.value !== "");

  function isLow(talk) {
    const low = talk.dataset.lows.split(",")[Number($("judge").value)];
    return Boolean(low) && Number(low) < Number($("below").value);
  }

  function filter() {
    const wanted = fold($("search").value).split(/\s+/).filter(Boolean);
    const [persona, judge, ended, severity] = ["persona", "judge", "ended", "severity"].map((id) => $(id).value);
    let shown = 0;
    for (const talk of talks) {
      const told = talk.dataset;
      const fits = (!$("only").checked || "severity" in told)
        && (!persona || told.persona === persona)
        && (!ended || told.ended === ended)
        && (!judge || isLow(talk))
        && (!severity || (told.reds || "").includes(severity))
        && wanted.every((word) => textOf(talk).includes(word));
      if (talk.hidden === fits) talk.hidden = !fits;
      shown += fits;
    }
    $("shown").textContent = fill(tools.dataset.shown, shown, talks.length);
    $("at").textContent = "";
    $("nothing").hidden = shown > 0;
    $("clear").hidden = !filters.some(isSet);
    $("below").disabled = !judge;
  }

  // The list comes worst first; n and p go through it as it stands.
  const worst = new Map(talks.map((talk, at) => [talk, at]));
  const orders = {
    worst: (talk) => worst.get(talk),
    score: (talk) => Number(talk.dataset.score),
    question: (talk) => Number(talk.dataset.case),
    plan: (talk) => Number(talk.id.slice(1)),
  };
  function sort() {
    const place = orders[$("sort").value];
    talks.sort((a, b) => place(a) - place(b) || orders.plan(a) - orders.plan(b));
    $("list").append(...talks);
  }

  function clear() {
    for (const each of filters) each.type === "checkbox" ? each.checked = false : each.value = "";
    filter();
    $("search").focus();
  }

  function reveal(element) {
    for (let up = element; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
  }

  let now = null;
  function show(turn) {
    if (now) now.classList.remove("now");
    now = turn;
    now.classList.add("now");
    reveal(now);
    now.scrollIntoView({ block: "center" });
    now.tabIndex = -1;
    now.focus({ preventScroll: true });
  }

  function go(step) {
    const severity = $("severity").value;
    // "1major 3minor" -> the ids of these turns.
    const red = talks.filter((talk) => !talk.hidden && talk.dataset.reds)
      .flatMap((talk) => talk.dataset.reds.split(" ").filter((turn) => turn.endsWith(severity))
        .map((turn) => `${talk.id}-t${parseInt(turn, 10)}`));
    if (!red.length) return;
    const at = red.indexOf(now?.id);
    const to = at < 0 ? (step > 0 ? 0 : red.length - 1) : (at + step + red.length) % red.length;
    show(element(red[to]));
    $("at").textContent = fill(tools.dataset.red, to + 1, red.length);
  }

  // A passage opens where it is named; without a script the link leads to the list below.
  function unfold(link) {
    const passage = $(link.hash.slice(1));
    const there = link.parentElement.querySelector("p");
    link.setAttribute("aria-expanded", String(!there));
    if (there) there.remove();
    else link.parentElement.append(passage.querySelector("p").cloneNode(true));
  }

  // Words that are not borne out: their note is lit, and the passage that it names is opened beside it.
  function explain(link) {
    const note = $(link.hash.slice(1));
    const passage = note.querySelector("a");
    if (passage && !note.querySelector("p")) unfold(passage);
    light(link);
    note.scrollIntoView({ block: "nearest" });
  }

  function light(link) {
    for (const lit of document.querySelectorAll(".flaws .lit")) lit.classList.remove("lit");
    if (link) $(link.hash.slice(1)).classList.add("lit");
  }

  // What a figure stands for: the conversations behind it.
  function narrow(link) {
    const { persona, judge, ended } = link.dataset;
    for (const each of filters) if (each.type !== "checkbox") each.value = "";
    $("only").checked = false;
    $("persona").value = persona || "";
    $("judge").value = judge || "";
    $("ended").value = ended || "";
    if (judge && !("red" in link.dataset) && link.closest("td")) $("below").value = "100";
    else if (judge) $("below").value = $("below").querySelector("[selected]")?.value || "60";
    filter();
    $("talks").scrollIntoView();
    tools.querySelector("input").focus({ preventScroll: true });
  }

  async function copy(link) {
    history.replaceState(null, "", link.hash);
    show(link.closest(".turn"));
    let said = tools.dataset.copied;
    try { await navigator.clipboard.writeText(link.href); } catch { said = tools.dataset.failed; }
    const told = document.createElement("output");
    told.textContent = said;
    link.after(told);
    setTimeout(() => told.remove(), 2500);
  }

  const links = [
    [".shelf a, .flaws a", unfold], ["a.flaw", explain],
    [".heat a, .legend a", narrow], [".turn > .link", copy],
  ];
  function follow(event) {
    const link = event.target.closest("a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    for (const [selector, act] of links) {
      if (link.matches(selector)) {
        event.preventDefault();
        act(link);
        return;
      }
    }
  }

  function jump() {
    const target = location.hash && element(location.hash.slice(1));
    if (!target) return;
    const talk = target.closest(".talk");
    if (talk && talk.hidden) { clear(); }
    if (target.matches(".turn")) show(target);
    else { reveal(target); target.scrollIntoView(); }
  }

  function toggleAll() {
    const open = talks.some((talk) => !talk.hidden && !talk.open);
    for (const talk of talks) if (!talk.hidden) talk.open = open;
    $("fold").textContent = open ? $("fold").dataset.close : $("fold").dataset.open;
  }

  const keys = {
    n: () => go(1),
    p: () => go(-1),
    r: () => { $("only").checked = !$("only").checked; filter(); },
    s: () => $("search").focus(),
    "/": () => $("search").focus(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest("input[type=search], select")) {
      if (event.key === "Escape") event.target.blur();
    } else if (keys[event.key]) {
      event.preventDefault();
      keys[event.key]();
    }
  });
  tools.addEventListener("submit", (event) => event.preventDefault());
  tools.addEventListener("input", filter);
  $("sort").addEventListener("change", sort);
  $("previous").addEventListener("click", () => go(-1));
  $("next").addEventListener("click", () => go(1));
  $("fold").addEventListener("click", toggleAll);
  $("clear").addEventListener("click", clear);
  document.addEventListener("click", follow);
  document.addEventListener("make", (event) => make(event.target));
  document.addEventListener("toggle", (event) => { if (event.target.matches(".talk")) make(event.target); }, true);
  document.addEventListener("focusin", (event) => light(event.target.closest("a.flaw")));
  document.addEventListener("mouseover", (event) => {
    const link = event.target.closest(".turn > .link");
    if (link) link.title = tools.dataset.copy;
  });
  window.addEventListener("hashchange", jump);
  // Browsers that print no folded details get them open.
  window.addEventListener("beforeprint", () => {
    for (const talk of talks) if (talk.matches(".paper")) make(talk);
    for (const each of document.querySelectorAll(".talk.paper, .question, .more, .others")) each.open = true;
  });
  for (const time of document.querySelectorAll("time")) {
    time.textContent = new Date(time.dateTime).toLocaleString(document.documentElement.lang, { year: "numeric", month: "short", day: "numeric", hour: "numeric", minute: "2-digit", timeZoneName: "short" });
  }
  tools.hidden = false;
  for (const talk of talks) if (talk.open) make(talk);
  if (waiting.length) window.requestIdleCallback?.(makeMore);
  filter();
  jump();
})();
