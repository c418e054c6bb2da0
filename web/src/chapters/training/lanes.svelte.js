import { untrack } from 'svelte';
import { initial } from '../../state/properties/index.js';
import { differencesOf } from '../../state/properties/training.js';
import { settings } from '../../state/settings.svelte.js';
import { makeModel } from '../../training/makeModel.js';
import { loadInvention } from '../../training/model.js';
import { laneNames, Training } from '../../training/training.svelte.js';
import { exampleOf, worlds } from '../../training/worlds.js';
import { counted, decoderNames, laneTexts, schemeNames } from '../../texts/training.js';

/** @typedef {import('../../training/model.js').LaneOptions} LaneOptions */

/** The usual difference between the models of a task. @param {typeof settings.world} name */
export const usualDifference = (name) => (worlds[name].written ? 'decoder' : initial.differ);

/** The two models that the settings select, and what is known about them. */
export class Lanes {
  training = new Training();
  #attn;
  world = $derived(worlds[settings.world]);
  differences = $derived(differencesOf(this.world.written !== undefined));
  /**
   * The difference between the two models. If a link names a difference that this task does not
   * offer, the task's usual difference is used.
   */
  differ = $derived(
    this.differences.includes(settings.differ) ? settings.differ : usualDifference(settings.world),
  );
  /** The reader's formulas. */
  #written = $derived({
    added: settings.formula,
    bias: settings.formulaBias,
    parameters: settings.parameters,
  });
  /** @type {LaneOptions[]} */
  #wanted = $derived.by(() => {
    const { schemeA, schemeB, trainHeads, trainLayers, rate, trainSeed } = settings;
    /** @type {LaneOptions} */
    const first = {
      ...{ world: settings.world, positions: schemeA, heads: trainHeads, layers: trainLayers },
      ...{ causal: this.world.causal, rate, seed: trainSeed },
      ...(this.world.written && { decoder: 'transformer' }),
    };
    /** @type {Partial<LaneOptions>} */
    const other = {
      positions: { positions: schemeB },
      heads: { heads: trainHeads === 4 ? 1 : 4 },
      layers: { layers: trainLayers === 2 ? 1 : 2 },
      mask: { causal: !first.causal },
      decoder: { decoder: /** @type {const} */ ('recurrent') },
    }[this.differ];
    return [first, { ...first, ...other }].map((each) =>
      each.positions === 'yours' ? { ...each, written: this.#written } : each,
    );
  });
  isYours = $derived(this.#wanted.some(({ positions }) => positions === 'yours'));
  /**
   * The reader's formulas, and the scheme that they define once its module is loaded, or the reason
   * why there is none.
   * @type {{ written: object, scheme?: import('../../training/model.js').Invention,
   *   failure?: unknown } | null}
   */
  #invented = $state.raw(null);
  invention = $derived(this.#invented?.written === this.#written ? this.#invented : null);
  /**
   * The options of both models. If the reader's formulas cannot be computed, the model that needs
   * them gets no positions.
   */
  options = $derived(
    this.#wanted.map((each) =>
      each.positions === 'yours' && !this.invention?.scheme
        ? { ...each, positions: /** @type {const} */ ('none'), written: undefined }
        : each,
    ),
  );
  example = $derived.by(() =>
    exampleOf(this.#attn, this.world, settings.trainSeed, settings.example),
  );
  /**
   * Before the first step no training module is loaded, so the page's own module computes the
   * attention.
   */
  #untrained = $derived(this.options.map((each) => this.lookOf(each)));
  /** Both models, as figures show them. */
  shown = $derived.by(() => {
    const { training } = this;
    return this.options.map((options, i) => {
      const { positions, heads, layers, causal, decoder = 'transformer', written } = options;
      const progress = training.shown[i];
      return {
        ...{ name: laneNames[i], progress, evaluations: progress.evaluations, positions },
        what: {
          positions: schemeNames[positions].long,
          heads: counted(heads, 'head'),
          layers: counted(layers, 'layer'),
          mask: causal ? laneTexts.causal : laneTexts.everywhere,
          decoder: decoderNames[decoder],
        }[this.differ],
        look: training.earlier?.looks[i] ?? progress.look ?? this.#untrained[i],
        reach: training.reach?.of[i] ?? null,
        ends: positions === 'learned',
        isBlind: positions === 'none' && !causal,
        checksum: training.checksums[i] ?? '',
        formula: (positions === 'yours' && written) || null,
      };
    });
  });
  /** @type {{ world: import('../../training/worlds.js').World, example: ReturnType<typeof exampleOf> } | undefined} */
  #last;
  /**
   * The example that both models have answered. A new example of the same task replaces it once
   * both models have answered the new example.
   */
  answered = $derived.by(() => {
    const { world, example } = this;
    const ids = example.ids.join();
    const isCurrent = this.shown.every(({ look }) => look.ids.join() === ids);
    if (isCurrent || this.#last?.world !== world) this.#last = { world, example };
    return this.#last.example;
  });
  /**
   * The step that both models have reached. A model that failed to take a step is behind the other.
   */
  step = $derived.by(() => Math.min(...this.training.shown.map(({ step }) => step)));
  /** The selected step. */
  at = $derived.by(() => this.training.earlier?.step ?? this.step);
  /** The selected head of each model. A model with fewer heads shows its last head. */
  heads = $derived(
    this.options.map(({ layers, heads, decoder }) => ({
      layer: decoder === 'recurrent' ? 0 : Math.min(Math.floor(settings.trainHead / 4), layers - 1),
      head: decoder === 'recurrent' ? 0 : Math.min(settings.trainHead % 4, heads - 1),
    })),
  );

  /** @param {import('attn').Attn} attn */
  constructor(attn) {
    this.#attn = attn;
    $effect(() => {
      if (!this.isYours) return;
      const written = this.#written;
      const done = (/** @type {object} */ result) => {
        if (written === this.#written) this.#invented = { written, ...result };
      };
      loadInvention({ ...this.#wanted[1], heads: 4, positions: 'yours', written }).then(
        (scheme) => done({ scheme }),
        (failure) => done({ failure }),
      );
    });
  }

  /**
   * Keeps the run at the options and the step in the settings while the figure is visible. A link
   * may name any step.
   */
  follow = () => {
    $effect(() => {
      const [given, step] = [this.options, settings.trainStep];
      if (this.isYours && !this.invention) return;
      untrack(() => {
        this.training.use(given);
        this.training.follow(step);
      });
    });
    $effect(() => {
      const { ids } = this.example;
      untrack(() => void this.training.lookAt(ids));
    });
  };

  /** Like follow(), and also tests longer inputs. */
  followFurther = () => {
    this.follow();
    $effect(() => {
      this.training.wantReach(true);
      return () => this.training.wantReach(false);
    });
  };

  /** An untrained model's view of the example. @param {LaneOptions} options */
  lookOf(options) {
    const model = makeModel(this.#attn, options, this.invention?.scheme);
    try {
      return model.look(this.example.ids);
    } finally {
      model.dispose();
    }
  }
}
