/** What this chapter adds to the page's settings. */
export const properties = {};
