"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const talks = [...document.querySelectorAll(".talk")];
  const tools = document.querySelector(".tools");
  const texts = new Map();
  const fold = (text) => text.normalize("NFKC").toLowerCase();
  const textOf = (talk) => {
    if (!texts.has(talk)) texts.set(talk, fold(talk.textContent));
    return texts.get(talk);
  };

  function filter() {
    const wanted = fold($("search").value).split(/\s+/).filter(Boolean);
    const persona = $("persona").value;
    let shown = 0;
    for (const talk of talks) {
      const fits = (!$("only").checked || "red" in talk.dataset)
        && (!persona || talk.dataset.persona === persona)
        && wanted.every((word) => textOf(talk).includes(word));
      talk.hidden = !fits;
      shown += fits;
    }
    $("shown").textContent = $("shown").dataset.text.replace("#", shown.toLocaleString());
  }

  function reveal(element) {
    for (let up = element; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
  }

  let now = null;
  function go(step) {
    const red = talks.filter((talk) => !talk.hidden).flatMap((talk) => [...talk.querySelectorAll(".turn.red")]);
    if (!red.length) return;
    const at = red.indexOf(now);
    if (now) now.classList.remove("now");
    now = red[at < 0 ? (step > 0 ? 0 : red.length - 1) : (at + step + red.length) % red.length];
    now.classList.add("now");
    reveal(now);
    now.scrollIntoView({ block: "center" });
    now.tabIndex = -1;
    now.focus({ preventScroll: true });
  }

  // A passage opens where it is named; without a script the link leads to the list below.
  function unfold(event) {
    const link = event.target.closest(".shelf a");
    const passage = link && $(link.hash.slice(1));
    if (!passage) return;
    event.preventDefault();
    const there = link.parentElement.querySelector("p");
    if (there) there.remove();
    else link.parentElement.append(passage.querySelector("p").cloneNode(true));
  }

  function jump() {
    const target = location.hash && $(location.hash.slice(1));
    if (!target) return;
    reveal(target);
    target.scrollIntoView();
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
  $("previous").addEventListener("click", () => go(-1));
  $("next").addEventListener("click", () => go(1));
  $("fold").addEventListener("click", toggleAll);
  document.addEventListener("click", unfold);
  window.addEventListener("hashchange", jump);
  window.addEventListener("beforeprint", () => talks.forEach((talk) => { talk.open = true; }));
  for (const time of document.querySelectorAll("time")) {
    time.textContent = new Date(time.dateTime).toLocaleString(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
  }
  tools.hidden = false;
  filter();
  jump();
})();
