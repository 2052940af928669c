// Which view is shown, in which colours.

let route = "";

/** "": the overview; "search/12"; "compare". */
function navigate(to) {
  route = to;
  try {
    history.pushState(null, "", `#${to}`);
  } catch {
    // A frame without an address of its own (a notebook's): the view changes all the same.
  }
  show();
  document.querySelector("h1")?.focus();
  scrollTo(0, 0);
}

function viewOf() {
  const search = /^search\/(\d+)$/.exec(route);
  if (search && Number(search[1]) < numEntries) return searchView(Number(search[1]));
  if (route === "compare" && overview.inputs.length > 1) return compareView();
  return overviewView();
}

function show() {
  disposeCharts();
  const view = document.getElementById("view");
  view.replaceChildren(...viewOf());
  for (const each of view.querySelectorAll("figure")) {
    try {
      each.draw();
    } catch (error) {
      each.replaceChildren(cannotBeShown(error));
    }
  }
  document.title = `${view.querySelector("h1").textContent} - tuneonce report`;
}

const theme = document.getElementById("theme");
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

function paint() {
  document.documentElement.dataset.theme = theme.value || (systemIsDark.matches ? "dark" : "light");
  show();
}

function start() {
  document.getElementById("home").addEventListener("click", () => navigate(""));
  document.getElementById("skip").addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("view").focus();
  });
  document.getElementById("pages").append(
      link("Searches", ""), ...(overview.inputs.length > 1 ? [link("Compare files", "compare")] : []));
  document.getElementById("made-at").textContent = ` on ${dateText(overview.made_at)}`;
  theme.addEventListener("change", paint);
  systemIsDark.addEventListener("change", paint);
  addEventListener("popstate", () => {
    route = location.hash.slice(1);
    show();
  });
  route = location.hash.slice(1);
  paint();
  performance.mark("shown");  // For benchmarks/report_page.py.
  // The candidates stand behind this script.
  addEventListener("DOMContentLoaded", () => route === "" || show());
}

start();
