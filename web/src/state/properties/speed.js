/** The settings of this chapter. */
export const properties = {};
