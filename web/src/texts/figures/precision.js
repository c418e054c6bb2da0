/** Names of the two programs that several figures compare. */
export const codes = { usual: 'usual float32 code', core: 'the core' };
