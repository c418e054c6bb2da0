import { createSubscriber } from 'svelte/reactivity';

const subscribe = createSubscriber((update) => {
  /** @type {MediaQueryList} */
  let media;
  const follow = () => {
    media?.removeEventListener('change', changed);
    media = matchMedia(`(resolution: ${devicePixelRatio}dppx)`);
    media.addEventListener('change', changed);
  };
  const changed = () => {
    follow();
    update();
  };
  follow();
  return () => media.removeEventListener('change', changed);
});

/**
 * Device pixels in a CSS pixel. Unlike Svelte's `devicePixelRatio`, importing this needs no window,
 * so that a server can import the elements.
 */
export function pixelRatio() {
  subscribe();
  return devicePixelRatio;
}
