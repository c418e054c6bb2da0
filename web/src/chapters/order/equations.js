export const layer = 'f';
export const order = String.raw`\pi`;
