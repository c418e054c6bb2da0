import { invalid } from './errors.js';
import { isA } from './realm.js';

/** @param {unknown} signal */
export function checkSignal(signal) {
  if (signal !== undefined && !isA(signal, 'AbortSignal')) {
    throw invalid('signal', signal, 'an AbortSignal');
  }
}
