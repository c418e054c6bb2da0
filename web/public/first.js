// A figure that is embedded in another page hides the still page.
if (/[#&]embed=/.test(location.hash)) document.documentElement.dataset.only = 'embedded';

// If the live page's script cannot be loaded, shows why. This is a classic script, because browsers
// do not load modules from `file://`.
addEventListener(
  'error',
  ({ target }) => {
    if (!(target instanceof HTMLScriptElement)) return;
    const failure = location.protocol === 'file:' ? 'file' : 'network';
    document.getElementById(`first-${failure}`)?.removeAttribute('hidden');
    document.getElementById('first-loading')?.setAttribute('hidden', '');
  },
  true,
);
