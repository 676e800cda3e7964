// Commands name the index of this very site, wherever it is served from; a page read from a disk leaves them as they are.
const placeholder = "https://pypi.example.com/";
const note = document.querySelector(".placeholder");
const site = document.querySelector(".languages");
if (note && site && location.protocol.startsWith("http")) {
  const index = new URL(`${site.dataset.root}simple/`, location.href).href;
  for (const block of document.querySelectorAll(".command pre")) {
    block.textContent = block.textContent.replaceAll(placeholder, index);
  }
  note.hidden = true;
}
