"use strict";
{
  const all = (query, within = document) => [...within.querySelectorAll(query)];
  const form = document.querySelector("#filter");
  const asked = new URLSearchParams(location.search);
  const ticked = (name) => all(`input[name="${name}"]:checked`, form).map((box) => box.value);
  const selects = all("select", form);
  const fits = (chosen, value) => chosen.length === 0 || chosen.includes(value);

  const texts = new Map();
  for (const file of all(".file")) {
    const path = file.querySelector("h3").textContent;
    for (const group of all(".group", file)) {
      for (const row of all(".change", group)) texts.set(row, `${path} ${group.textContent}`.toLowerCase());
    }
  }

  const apply = () => {
    const words = form.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kinds = ticked("kind"), actions = ticked("action");
    const picked = Object.fromEntries(selects.map((one) => [one.name, one.value]));
    const selected = (name, value) => !picked[name] || picked[name] === value;
    let count = 0;
    for (const [row, text] of texts) {
      const group = row.closest(".group"), file = row.closest(".file");
      row.hidden = !(fits(kinds, row.dataset.kind) && fits(actions, row.dataset.action)
        && selected("area", file.dataset.area) && selected("why", group.dataset.why)
        && selected("layer", group.dataset.layer) && words.every((word) => text.includes(word)));
      if (!row.hidden) count += Number(row.dataset.count);
    }
    for (const imports of all(".imports")) {
      imports.hidden = imports.querySelector(".change").hidden;
      imports.open = kinds.includes("import") || (words.length > 0 && !imports.hidden);
    }
    for (const group of all(".group")) group.hidden = !group.querySelector(".change:not([hidden])");
    for (const file of all(".file")) {
      file.hidden = !file.querySelector(".change:not([hidden])");
      document.querySelector(`.files a[href="#${file.querySelector("h3").id}"]`).parentElement.hidden = file.hidden;
    }
    form.querySelector("output").textContent = `${count} shown`;
  };

  form.diffs.addEventListener("click", () => {
    const open = form.diffs.ariaPressed !== "true";
    form.diffs.ariaPressed = String(open);
    form.diffs.textContent = open ? "Hide all diffs" : "Show all diffs";
    for (const diff of all(".diff")) diff.open = open;
  });
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());

  // page.html?kind=method&action=wrapped&area=verl.utils&q=rms shows just that: a link to it can be sent.
  form.q.value = asked.get("q") ?? "";
  for (const one of selects) {
    const value = asked.get(one.name) ?? "";
    one.value = [...one.options].some((option) => option.value === value) ? value : "";
  }
  for (const box of all("input[type=checkbox]", form)) box.checked = asked.getAll(box.name).includes(box.value);
  form.hidden = false;
  apply();
}
