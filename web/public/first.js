// Says why the live page cannot start, if its script cannot be loaded. This is a classic script,
// because browsers do not load modules from files.
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
