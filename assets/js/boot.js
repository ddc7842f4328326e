// @ts-check
/* Runs before Streamlit's own code, in every page's document. */

// Where the server is. Without this the browser first looks for it below the page's own address and reports misses.
/** @type {any} */ (window).__streamlit = { BACKEND_BASE_URL: new URL("./", location.href).href }

// A presented page is large from its first paint on; frame.js keeps this up to date.
if (new URLSearchParams(location.search).get("present") === "1") document.documentElement.dataset.ntPresent = "1"

// A change of page makes a history entry without the link's values, and the page then writes them: one entry, not two.
// Streamlit leaves the scrolling where it was; another page begins at its top.
{
  const push = history.pushState.bind(history)
  let fresh = false
  history.pushState = (state, unused, url) => {
    const next = new URL(url ?? "", location.href)
    const same = next.pathname === location.pathname
    if (same && fresh && next.search) history.replaceState(state, unused, url)
    else push(state, unused, url)
    fresh = !same && !next.search
    if (!same) document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0)
  }
}

// On a phone the open menu covers the page: it closes once a page is chosen.
document.addEventListener("click", (event) => {
  const chosen = event.target instanceof Element && event.target.closest("[data-testid=stSidebarNavLink]")
  if (!chosen || !matchMedia("(max-width: 768px)").matches) return
  const close = /** @type {HTMLElement | null} */ (document.querySelector("[data-testid=stSidebarCollapseButton] button"))
  setTimeout(() => close?.click())
})

// The first page needs these as soon as it is drawn; they are fetched while Streamlit itself starts.
import("./lib/loader.js")
import("./small_grid.js")

// Streamlit's menu puts each section in a <div> between the list and its items, and so a list without items reaches
// a screen reader. Said with roles: a list of sections, each with its heading and its links.
{
  const mend = () => {
    for (const section of document.querySelectorAll("[data-testid=stSidebarNavItems] > div:not([role])")) {
      section.setAttribute("role", "listitem")
    }
    for (const item of document.querySelectorAll("[data-testid=stSidebarNavItems] > div > li:not([role])")) {
      item.setAttribute("role", "none")
    }
    // A formula wider than a phone scrolls sideways by itself: the keyboard must reach it too.
    for (const formula of document.querySelectorAll(".katex-display:not([tabindex])")) {
      formula.setAttribute("tabindex", "0")
    }
  }
  let waiting = false
  new MutationObserver(() => {
    if (waiting) return
    waiting = true
    requestAnimationFrame(() => {
      waiting = false
      mend()
    })
  }).observe(document.documentElement, { childList: true, subtree: true })
}
