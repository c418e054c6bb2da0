/**
 * Light or dark. The reader's choice is stored in this browser rather than in the URL, because a
 * shared link should not impose it on others.
 */

/** @typedef {'auto' | 'light' | 'dark'} ThemeChoice */

const key = 'attn-theme';
const systemDark = matchMedia('(prefers-color-scheme: dark)');

/** @returns {ThemeChoice} */
function stored() {
  // Reading storage throws if the browser forbids it.
  try {
    const value = localStorage.getItem(key);
    return value === 'light' || value === 'dark' ? value : 'auto';
  } catch {
    return 'auto';
  }
}

class Theme {
  /** @type {ThemeChoice} */
  choice = $state(stored());
  systemDark = $state(systemDark.matches);

  constructor() {
    systemDark.addEventListener('change', (event) => (this.systemDark = event.matches));
  }

  get dark() {
    return this.choice === 'auto' ? this.systemDark : this.choice === 'dark';
  }

  /** @returns {import('../drawing/themedScales.js').ThemeName} */
  get name() {
    return this.dark ? 'dark' : 'light';
  }

  /** @param {ThemeChoice} choice */
  choose(choice) {
    this.choice = choice;
    try {
      if (choice === 'auto') localStorage.removeItem(key);
      else localStorage.setItem(key, choice);
    } catch {
      // If the choice cannot be stored, it applies to this visit only.
    }
  }
}

export const theme = new Theme();
