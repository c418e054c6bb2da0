import { mount, unmount } from 'svelte';
import Frame from './Frame.svelte';
import { missing, readAttribute } from './read.js';
import { styles } from './styles.js';

/**
 * @typedef {Parameters<typeof readAttribute>[1]} Kind
 * @typedef {object} Description
 * @property {Record<string, Kind>} properties every element also has `label` and `theme`
 * @property {Record<string, unknown>} [defaults] defaults of the properties whose default is not null
 * @property {string} data the property that contains the tensor; nothing is drawn without it
 * @property {(given: Record<string, any>) => any} read returns what the drawing needs, or throws
 * @property {import('svelte').Component<any>} drawing
 */

/** On a server there are no elements. The module can be imported there, but defines nothing. */
const Base = /** @type {typeof HTMLElement} */ (globalThis.HTMLElement ?? class {});

/** The attribute of a property: `keyTokens` is `key-tokens`. @param {string} property */
const attributeOf = (property) =>
  property.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** @type {WeakMap<Document, CSSStyleSheet>} */
const sheets = new WeakMap();

/**
 * Gives a shadow root the styles. A style sheet object also works with a content security policy
 * that forbids inline styles.
 * @param {ShadowRoot} root
 */
function addStyles(root) {
  const { ownerDocument } = root.host;
  const Sheet = ownerDocument.defaultView?.CSSStyleSheet;
  if (!Sheet || !('adoptedStyleSheets' in root)) return;
  let sheet = sheets.get(ownerDocument);
  if (!sheet) {
    sheet = new Sheet();
    sheet.replaceSync(styles);
    sheets.set(ownerDocument, sheet);
  }
  root.adoptedStyleSheets = [sheet];
}

/**
 * Creates the class of an element that draws what its properties contain.
 * @param {Description} description
 */
export function figureElement({ properties, defaults = {}, data, read, drawing }) {
  /** @type {Record<string, Kind>} */
  const kinds = { ...properties, label: 'text', theme: 'text' };
  const initial = Object.fromEntries(Object.keys(kinds).map((name) => [name, null]));
  const attributes = Object.fromEntries(
    Object.keys(kinds).map((name) => [attributeOf(name), name]),
  );

  class FigureElement extends Base {
    static observedAttributes = Object.keys(attributes);

    #given = $state.raw({ ...initial, ...defaults });
    /** An attribute that cannot be read. @type {Error | null} */
    #failure = $state.raw(null);
    /** @type {any} */
    #selected = null;
    /** @type {object | null} */
    #mounted = null;

    constructor() {
      super();
      this.attachShadow({ mode: 'open' });
    }

    connectedCallback() {
      // Properties that were set before the element was defined hide the accessors.
      for (const name of Object.keys(kinds)) {
        if (!Object.hasOwn(this, name)) continue;
        const value = /** @type {any} */ (this)[name];
        delete (/** @type {any} */ (this)[name]);
        /** @type {any} */ (this)[name] = value;
      }
      const root = /** @type {ShadowRoot} */ (this.shadowRoot);
      addStyles(root);
      const given = () => this.#given;
      const failure = () => this.#failure;
      this.#mounted ??= mount(Frame, {
        target: root,
        props: {
          ...{ drawing, read, data },
          get given() {
            return given();
          },
          get failure() {
            return failure();
          },
          set: (/** @type {string} */ name, /** @type {unknown} */ value) => this.#set(name, value),
          dispatch: (/** @type {string} */ type, /** @type {unknown} */ detail) => {
            if (type === 'select') this.#selected = detail;
            this.dispatchEvent(new CustomEvent(type, { detail }));
          },
          fail: (/** @type {Error} */ error) => this.#fail(error),
        },
      });
    }

    disconnectedCallback() {
      // When a page moves an element, the browser disconnects and reconnects it immediately. The
      // drawing should survive that.
      queueMicrotask(() => {
        if (this.isConnected || !this.#mounted) return;
        unmount(this.#mounted);
        this.#mounted = null;
      });
    }

    /** @param {string} attribute @param {string | null} _ @param {string | null} text */
    attributeChangedCallback(attribute, _, text) {
      const name = attributes[attribute];
      this.#failure = null;
      try {
        const value =
          text === null ? (defaults[name] ?? null) : readAttribute(name, kinds[name], text);
        this.#set(name, kinds[name] === 'flag' ? text !== null : value);
      } catch (error) {
        this.#failure = /** @type {Error} */ (error);
      }
    }

    /** The selected part, as in the detail of the last `select` event. */
    get selected() {
      return this.#selected;
    }

    /** @param {string} name @param {unknown} value */
    #set(name, value) {
      this.#given = { ...this.#given, [name]: value ?? defaults[name] ?? null };
    }

    /** Reports an error as a cancelable event, and otherwise like an uncaught error. @param {Error} error */
    #fail(error) {
      const event = new ErrorEvent('error', { error, message: error.message, cancelable: true });
      if (this.dispatchEvent(event)) reportError(error);
    }

    static {
      for (const name of Object.keys(kinds)) {
        Object.defineProperty(this.prototype, name, {
          ...{ enumerable: true, configurable: true },
          /** @this {FigureElement} */
          get() {
            return /** @type {any} */ (this.#given)[name];
          },
          /** @this {FigureElement} @param {unknown} value */
          set(value) {
            // `null` means that there is nothing to draw yet.
            this.#failure = name === data && value === undefined ? missing(name) : null;
            // A handle may be disposed of before the element is drawn.
            const handle = /** @type {any} */ (value);
            this.#set(name, typeof handle?.toTensor === 'function' ? handle.toTensor() : value);
          },
        });
      }
    }
  }
  return FigureElement;
}
