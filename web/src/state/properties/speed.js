/** The settings of the chapter on speed. */
export const properties = {};
