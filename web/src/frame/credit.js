import { shorten } from '../core/tokens.js';
import { written } from '../drawing/numbers.js';
import { host } from '../host/host.js';
import { maskNames } from '../state/masks.js';
import { linkTo, settings } from '../state/settings.svelte.js';
import { credit as texts } from '../texts/picture.js';
import { controls } from '../texts/page.js';

/** @typedef {import('../state/settings.svelte.js').SettingName} SettingName */

/**
 * @typedef {object} Around
 * @property {readonly SettingName[]} [follows] the shared settings that affect the figure; all by
 *   default
 * @property {readonly SettingName[]} uses the figure's own settings
 * @property {{ busy: boolean, live?: import('../work/work.svelte.js').Given }} [work] the
 *   computation of the picture: whether it is running, and the settings that it uses
 */

/** Labels of the controls for masks, which share one line. */
const masking = [controls.causal, controls.window, controls.validLength];

/** Maximum length of a link below a picture. A long sentence makes a longer link. */
const mostCharacters = 500;

/**
 * The link to a figure with the current settings, as printed below its picture: without the
 * protocol, and without the settings if it would be too long.
 * @param {HTMLElement} figure
 */
export function sourceOf(figure) {
  const at = `${figure.closest('[data-chapter]')?.id}.${figure.id}`;
  const [whole, short] = [linkTo(at), `${host.address()}#at=${at}`].map((link) =>
    link.replace(/^\w+:\/\/|\?[^#]*/g, ''),
  );
  return `attn, ${whole.length > mostCharacters ? short : whole}`;
}

/**
 * The lines below an exported picture: its data, and the settings that it was drawn with.
 * @param {HTMLElement} figure
 * @param {Around} around
 */
export function creditOf(figure, { follows, uses, work }) {
  const readsText = Boolean(work || !follows);
  return [
    ...(settings.text && readsText ? [quoted(settings.text)] : []),
    ...barSettings(
      work?.live ?? settings,
      // The figure's own controls are listed separately, except for masks, which share one line.
      (name) => (name === 'causal' || !uses.includes(name)) && (follows?.includes(name) ?? true),
    ),
    ...controlsOf(figure).filter((part) => !masking.some((mask) => part.startsWith(mask))),
  ];
}

/**
 * @param {typeof settings | import('../work/work.svelte.js').Given} given
 * @param {(name: SettingName) => boolean} acts
 */
function barSettings(given, acts) {
  const { weights, layer, head, dModel, heads, base, encoding } = given;
  const rotary = 'rotary' in given && given.rotary;
  const masks = maskNames(given);
  const own = 'own' in given && Boolean(given.own);
  const part = 'pair' in given ? given.pair?.part : undefined;
  return [
    acts('weights') &&
      {
        identity: texts.identity,
        xavier: texts.random(settings.seed),
        learned: texts.learned({ layer: layer + 1, head: head + 1, own, part }),
      }[weights],
    acts('dModel') && texts.width(dModel),
    acts('heads') && texts.heads(heads),
    acts('encoding') && texts.positions[encoding === 'none' || !rotary ? encoding : 'rotary'],
    acts('base') &&
      (rotary || encoding !== 'none' || !acts('encoding')) &&
      texts.base(written(base)),
    acts('causal') && masks.length && texts.masks(masks.join(', ')),
  ].filter((part) => typeof part === 'string');
}

/** The values of a figure's controls, such as `length 60`. @param {HTMLElement} figure */
function controlsOf(figure) {
  /** @type {NodeListOf<HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>} */
  const inputs = figure.querySelectorAll(
    ':is(.controls, .picture) :is(input, select), .controls textarea',
  );
  return [...inputs].flatMap((input) => {
    const name = said(input.labels?.[0]);
    if (input instanceof HTMLTextAreaElement) return `${name} ${quoted(input.value)}`;
    if (input instanceof HTMLSelectElement) {
      return `${said(input.labels?.[0].firstChild)} ${input.selectedOptions[0]?.text}`;
    }
    if (input.type === 'range') return `${name} ${input.getAttribute('aria-valuetext')}`;
    if (!input.checked) return [];
    if (input.type !== 'radio') return name;
    // Radio buttons without a legend are omitted: their options are pictures, and the chosen
    // picture is marked.
    const legend = input.closest('fieldset')?.querySelector('legend');
    return legend ? `${said(legend)} ${name}` : [];
  });
}

/** @param {string} text */
const quoted = (text) => `“${shorten(text.replace(/\s+/g, ' '), 60)}”`;

/** @param {Node | null | undefined} node */
const said = (node) => (node?.textContent ?? '').replace(/\s+/g, ' ').trim();
