/**
 * Where nearness fails: two distances, the larger of which has the larger product, because a fast hand has
 * come round again. The pair that shows it best, if any does.
 * @param {ArrayLike<number>} products of a position with itself, and with those 1, 2, 3 … on
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
  // A hundredth of the product of a place with itself can be seen.
  return rise(best) > 0.01 * products[0] ? best : null;
}
