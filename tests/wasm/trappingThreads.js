// Changes one of attn's .wasm files so that its threads trap.

/** Ids of sections in a .wasm file. */
const kTypes = 1;
const kFunctions = 3;
const kGlobals = 6;
const kCode = 10;

/**
 * The type of a parallel loop's body: (i32, i64, i32) → (). It takes the object, an index and the
 * worker.
 */
const kLoopBody = [0x60, 3, 0x7f, 0x7e, 0x7f, 0];

/** @param {number} value */
function leb(value) {
  const bytes = [];
  for (; value > 0x7f; value >>>= 7) bytes.push((value & 0x7f) | 0x80);
  return [...bytes, value];
}

/** Reads numbers from a .wasm file. */
class Reader {
  at = 8;
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
  }
  /** @returns {number} */
  number() {
    const byte = this.bytes[this.at++];
    return byte > 0x7f ? (byte & 0x7f) + 128 * this.number() : byte;
  }
  /** @param {number} count */
  skip(count) {
    this.at += count;
  }
  /** Returns the bytes that `read` reads. @param {() => unknown} read */
  bytesOf(read) {
    const begin = this.at;
    read();
    return this.bytes.subarray(begin, this.at);
  }
}

/**
 * Makes the body of every parallel loop begin with a trap for all threads except the main thread.
 * The stack pointer tells the threads apart, because the main thread's stack is at lower addresses
 * than all other stacks.
 * @param {Uint8Array} bytes  bytes of a module with threads
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function trappingThreads(bytes) {
  const reader = new Reader(bytes);
  /** @type {Set<number>} */
  const loopTypes = new Set();
  /** @type {number[]} */
  let types = [];
  /** @type {Uint8Array | undefined} */
  let stack;
  const parts = [bytes.subarray(0, reader.at)];
  while (reader.at < bytes.length) {
    const begin = reader.at;
    const kind = reader.number();
    const size = reader.number();
    const end = reader.at + size;
    const content = reader.at;
    const count = kind ? reader.number() : 0;
    if (kind === kTypes) {
      for (let type = 0; type < count; ++type) {
        const found = reader.bytesOf(() => {
          reader.at += 1;
          reader.skip(reader.number());
          reader.skip(reader.number());
        });
        if (found.join() === kLoopBody.join()) loopTypes.add(type);
      }
    } else if (kind === kFunctions) {
      types = Array.from({ length: count }, () => reader.number());
    } else if (kind === kGlobals) {
      // The first global is the stack pointer. Its type, its mutability and the opcode i32.const
      // come before its value.
      reader.at += 3;
      stack = reader.bytesOf(() => reader.number());
    } else if (kind === kCode && stack) {
      // global.get 0, i32.const, i32.gt_u, if, unreachable, end
      const trap = [0x23, 0, 0x41, ...stack, 0x4b, 0x04, 0x40, 0x00, 0x0b];
      const bodies = types.map((type) => {
        const size = reader.number();
        const bodyEnd = reader.at + size;
        const locals = reader.bytesOf(() => {
          for (let groups = reader.number(); groups > 0; --groups) {
            reader.number();
            reader.at += 1;
          }
        });
        const code = bytes.subarray(reader.at, bodyEnd);
        reader.at = bodyEnd;
        const body = Buffer.concat([
          locals,
          Uint8Array.from(loopTypes.has(type) ? trap : []),
          code,
        ]);
        return Buffer.concat([Uint8Array.from(leb(body.length)), body]);
      });
      const code = Buffer.concat([Uint8Array.from(leb(count)), ...bodies]);
      parts.push(Uint8Array.from([kind, ...leb(code.length)]), code);
      continue;
    }
    reader.at = end;
    parts.push(bytes.subarray(begin, Math.max(content, end)));
  }
  return new Uint8Array(Buffer.concat(parts));
}
