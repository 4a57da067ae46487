"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const talks = [...document.querySelectorAll(".talk")];
  const tools = document.querySelector(".tools");
  const texts = new Map();
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

  function filter() {
    const wanted = fold($("search").value).split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const talk of talks) {
      const fits = (!$("only").checked || talk.dataset.reds) && wanted.every((word) => textOf(talk).includes(word));
      if (talk.hidden !== !fits) talk.hidden = !fits;
      shown += !talk.hidden;
    }
    $("shown").textContent = fill(tools.dataset.shown, shown, talks.length);
    $("at").textContent = "";
    $("nothing").hidden = shown > 0;
    $("clear").hidden = !$("only").checked && !wanted.length;
  }

  // The list comes worst first; n and p go through it as it stands.
  const worst = new Map(talks.map((talk, at) => [talk, at]));
  const orders = {
    worst: (talk) => worst.get(talk),
    score: (talk) => Number(talk.dataset.score),
    question: (talk) => Number(talk.dataset.case),
  };
  function sort() {
    const place = orders[$("sort").value];
    talks.sort((a, b) => place(a) - place(b) || worst.get(a) - worst.get(b));
    $("list").append(...talks);
  }

  function clear() {
    $("search").value = "";
    $("only").checked = false;
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
    const red = talks.filter((talk) => !talk.hidden && talk.dataset.reds)
      .flatMap((talk) => talk.dataset.reds.split(" ").map((turn) => `${talk.id}-t${turn}`));
    if (!red.length) return;
    // On from the one in sight, wherever the reader came to it.
    const inSight = (id) => {
      const turn = $(id);
      const { top, bottom } = turn?.checkVisibility() ? turn.getBoundingClientRect() : { top: 0, bottom: 0 };
      return bottom > 0 && top < innerHeight && top !== bottom;
    };
    const at = red.indexOf(now && inSight(now.id) ? now.id : red.find(inSight) ?? now?.id);
    const to = at < 0 ? (step > 0 ? 0 : red.length - 1) : (at + step + red.length) % red.length;
    show(element(red[to]));
    $("at").textContent = fill(tools.dataset.red, to + 1, red.length);
  }

  // A passage opens where it is named; without a script the link leads to the list below.
  document.addEventListener("click", (event) => {
    const link = event.target.closest(".shelf a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const there = link.parentElement.querySelector("p");
    link.setAttribute("aria-expanded", String(!there));
    if (there) there.remove();
    else link.parentElement.append($(link.hash.slice(1)).querySelector("p").cloneNode(true));
  });

  function jump() {
    // What the page of a large run has no room for leads to the list.
    const target = location.hash && (element(location.hash.slice(1)) || $("talks"));
    if (!target) return;
    if (target.closest(".talk")?.hidden) clear();
    if (target.matches(".turn")) show(target);
    else { reveal(target); target.scrollIntoView(); }
  }

  const keys = { n: 1, p: -1 };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest("input[type=search], select")) {
      if (event.key === "Escape") event.target.blur();
    } else if (keys[event.key]) {
      event.preventDefault();
      go(keys[event.key]);
    }
  });
  tools.addEventListener("submit", (event) => event.preventDefault());
  tools.addEventListener("input", filter);
  $("sort").addEventListener("change", sort);
  $("previous").addEventListener("click", () => go(-1));
  $("next").addEventListener("click", () => go(1));
  $("clear").addEventListener("click", clear);
  document.addEventListener("make", (event) => make(event.target));
  document.addEventListener("toggle", (event) => { if (event.target.matches(".talk")) make(event.target); }, true);
  window.addEventListener("hashchange", jump);
  // Browsers that print no folded details get them open.
  window.addEventListener("beforeprint", () => {
    for (const each of document.querySelectorAll(".question, .more")) each.open = true;
  });
  tools.hidden = false;
  for (const talk of talks) if (talk.open) make(talk);
  if (waiting.length) window.requestIdleCallback?.(makeMore);
  filter();
  jump();
})();
