// Records functions of variables on the tape that these are on.

import { argumentError } from './errors.js';
import { isVariable } from './tape.js';

/** @import { Call } from './call.js' */
/** @import { Operation } from './runtime.js' */
/** @import { Variable } from './tape.js' */

/**
 * Records a function of variables, by name.
 * @param {Operation} operation
 * @param {Record<string, Variable>} variables
 * @param {(call: Call) => void} write
 * @param {Readonly<Record<number, string>>} [ranks]  those accepted
 */
export const recordOn = (operation, variables, write, ranks) =>
  recordEachOn(1, operation, variables, write, ranks)[0];

/**
 * The same of one that gives several.
 * @param {number} count
 * @param {Operation} operation
 * @param {Record<string, Variable>} variables
 * @param {(call: Call) => void} write
 * @param {Readonly<Record<number, string>>} [ranks]
 */
export function recordEachOn(count, operation, variables, write, ranks) {
  const named = Object.entries(variables);
  const tape = named.find(([, variable]) => isVariable(variable))?.[1].tape;
  if (!tape) throw argumentError('invalid_argument', named[0][0], 'no variable', 'a Variable');
  return tape.recordEach(count, operation, (call) => {
    for (const [name, variable] of named) tape.write(call, name, variable, ranks);
    write(call);
  });
}
