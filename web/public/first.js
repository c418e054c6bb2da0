// If the address asks for one embedded figure, the styles hide the first view, except for its
// notes.
if (/[#&]embed=/.test(location.hash)) document.documentElement.dataset.only = 'embedded';

// If the live page's script cannot be loaded, shows why. This is a classic script, because browsers
// do not load modules from `file://`.
addEventListener(
  'error',
  ({ target }) => {
    if (!(target instanceof HTMLScriptElement)) return;
    // A frame with the attribute `sandbox` has the origin "null".
    const failure =
      location.protocol === 'file:' ? 'file' : self.origin === 'null' ? 'sandbox' : 'network';
    const message = document.getElementById(`first-${failure}`);
    message?.removeAttribute('hidden');
    document.getElementById('first-loading')?.setAttribute('hidden', '');
    if (failure !== 'sandbox') return;
    const link = message?.querySelector('a');
    if (!link) return;
    link.href = link.textContent = location.href;
  },
  true,
);
