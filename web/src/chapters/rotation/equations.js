export const shiftMatrix = String.raw`M_\delta`;
export const shift = String.raw`\delta`;
