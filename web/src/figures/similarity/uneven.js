/**
 * Finds two distances where the product at the larger distance is greater than the product at the
 * smaller distance. Such a pair shows that products do not always decrease with distance: they rise
 * when a fast pair of columns completes a turn. Returns the pair with the largest rise, if it is
 * visible.
 * @param {ArrayLike<number>} products products of a position with the positions at distances
 *   0, 1, 2, 3 …
 * @returns {{ near: number, far: number } | null}
 */
export function uneven(products) {
  let best = { near: 0, far: 0 };
  let near = 0;
  const rise = (/** @type {{ near: number, far: number }} */ { near, far }) =>
    products[far] - products[near];
  for (let far = 1; far < products.length; far++) {
    if (products[far] < products[near]) near = far;
    if (rise({ near, far }) > rise(best)) best = { near, far };
  }
  // products[0] is a position's product with itself. Readers can see a rise of more than a
  // hundredth of this product.
  return rise(best) > 0.01 * products[0] ? best : null;
}
