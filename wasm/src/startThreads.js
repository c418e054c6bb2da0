// In front of the glue of variants with threads.

/* global Module */

// The loader makes the instance.
Module['instantiateWasm'] = (imports, receive) => {
  Module['instantiate'](imports).then(({ instance, module }) => receive(instance, module));
  return {};
};
