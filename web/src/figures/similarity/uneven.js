/**
 * Finds two distances of which the larger has the larger product, which shows that products do not
 * always decrease with distance. Products rise when a fast hand completes a turn. Returns the
 * clearest such pair, if any.
 * @param {ArrayLike<number>} products products of a position with itself and with the positions
 *   1, 2, 3 … later
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
  // A rise of the product is visible if it is more than a hundredth of a position's product with
  // itself.
  return rise(best) > 0.01 * products[0] ? best : null;
}
