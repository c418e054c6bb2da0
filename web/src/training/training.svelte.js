import { reasonOf } from '../work/errors.js';
import { endOf } from './curves.js';
import { betweenPictures, Frames } from './frames.js';
import { sizes } from './model.js';
import { Progress } from './progress.js';
import { RemoteLanes } from './remoteLanes.js';
import { worlds } from './worlds.js';
import { stopTexts } from '../texts/training.js';

/** @typedef {import('./model.js').LaneOptions} LaneOptions */
/** @typedef {import('./remoteLanes.js').RemoteLane} RemoteLane */

/**
 * Steps and tokens of each model per second, and the shares of time spent on training and on
 * drawing.
 */
/** @typedef {{ steps: number, tokens: number, training: number, drawing: number }} Pace */

/** How long workers run without checking for messages, in ms. */
const slice = 40;

/**
 * Shortest time between two tests of longer examples, in ms. A test takes as long as several steps.
 */
const betweenReaches = 3000;

/** Shortest time between two checkpoints, in ms. Checkpoints are kept in case a worker is lost. */
const betweenKept = 2000;

/** Largest number of steps that workers take at once. */
const mostAtOnce = 20;

/** Names of the models on the page. */
export const laneNames = ['A', 'B'];

const noProgress = () => laneNames.map(() => new Progress());

/**
 * Models (lanes) that are trained side by side in lockstep, each in a separate worker. The latest
 * state is drawn in the next animation frame.
 */
export class Training {
  /** The drawn state of each model. @type {import('./progress.js').Results[]} */
  shown = $state.raw(noProgress());
  /** @type {'resting' | 'starting' | 'running'} */
  state = $state('resting');
  /** Why the run has failed, as a message for the reader. */
  problem = $state('');
  /** @type {Pace | null} */
  pace = $state.raw(null);
  /**
   * The earlier step that is shown.
   * @type {{ step: number, looks: import('./model.js').Look[] } | null}
   */
  earlier = $state.raw(null);
  /**
   * The result of the last file of weights loaded into each model.
   * @type {({ name: string, step: number, loaded: import('./lane.js').Loaded } | null)[]}
   */
  files = $state.raw([null, null]);
  /** Why the run stopped before the chosen step. @type {ReturnType<typeof endOf>} */
  ended = $state('');
  /** True if weights from a file have been loaded into a model since the run began. */
  given = $state(false);
  /**
   * Each model's performance on longer inputs, and the step at which it was tested.
   * @type {{ step: number, of: import('./lane.js').Reach[] } | null}
   */
  reach = $state.raw(null);
  /** Checksums of the models' weights, once a run has stopped. @type {string[]} */
  checksums = $state.raw([]);

  #workers = new RemoteLanes(laneNames.length);
  /** @type {LaneOptions[]} */
  #options = [];
  #key = '';
  /** @type {RemoteLane[] | null} */
  #lanes = null;
  #progress = noProgress();
  /**
   * The checkpoint from which a run that has lost its workers continues.
   * @type {{ step: number, lanes: Uint8Array[] } | null}
   */
  #kept = null;
  /** The selected example. @type {Int32Array} */
  #ids = new Int32Array();
  /** The last step requested. */
  #asked = 0;
  /** The earlier step to show. */
  #back = Infinity;
  #lookingBack = false;
  /** True if the reader has chosen to test the models with longer inputs, too. */
  #reaches = false;
  #reaching = false;
  /** The step at which to stop. */
  #until = 0;
  /** True if the run also stops once more steps would change little. */
  #stopsEarly = false;
  /** Number of the current run. Earlier runs check it to detect that they are outdated. */
  #turn = 0;
  #going = false;
  #frames = new Frames(() => {
    this.shown = this.#progress.map((progress) => ({ ...progress }));
    if (this.#pace) this.pace = this.#pace;
    this.#pace = null;
  });
  /** The pace to draw next. @type {Pace | null} */
  #pace = null;

  /** Number of steps that all models have taken. */
  get step() {
    return Math.min(...this.#progress.map(({ step }) => step));
  }

  /**
   * Starts a new run with other models, another task or another seed.
   * @param {LaneOptions[]} options options of each model
   */
  use(options) {
    const key = JSON.stringify(options);
    if (key === this.#key) return;
    this.#key = key;
    this.#options = options;
    this.#restart();
  }

  /** Switches to another example. @param {Int32Array} ids */
  async lookAt(ids) {
    if (ids.join() === this.#ids.join()) return;
    this.#ids = ids;
    void this.#lookBack();
    if (this.#going || !this.#lanes) return;
    const turn = this.#turn;
    try {
      await this.#look(this.#lanes);
      if (turn === this.#turn) this.#frames.draw();
    } catch (error) {
      if (turn === this.#turn) this.#fail(error);
    }
  }

  /**
   * Continues training up to a step, or stops earlier if more steps would change little.
   * @param {number} until
   */
  play(until) {
    this.#until = until;
    this.#stopsEarly = !this.#end();
    this.ended = '';
    void this.#go();
  }

  /** Stops as soon as both models have finished the steps that they are taking. */
  pause() {
    this.#until = 0;
  }

  /** Goes to a step, unless the last request was for the same step. @param {number} step */
  follow(step) {
    if (step !== this.#asked) this.goTo(step);
  }

  /** Goes to a step. If the step is in the past, the run starts again. @param {number} step */
  goTo(step) {
    if (step < this.step) this.#restart();
    this.#asked = step;
    if (step > this.step) {
      this.#until = step;
      this.#stopsEarly = false;
      this.ended = '';
      void this.#go();
    }
  }

  /** Shows `step` if it is an earlier step, and otherwise the latest step. @param {number} step */
  lookBack(step) {
    this.#back = step < this.step ? step : Infinity;
    void this.#lookBack();
    if (!this.#going) void this.#reach();
  }

  /** The weights of a model as a .safetensors file. @param {number} lane */
  save(lane) {
    return this.#lanes?.[lane].save();
  }

  /**
   * Loads the weights of a file into a model, if they fit, and continues the run from these
   * weights.
   * @param {number} i index of the model
   * @param {File} file
   */
  async load(i, file) {
    if (this.#going) return;
    this.#begin();
    const turn = this.#turn;
    try {
      const bytes = new Uint8Array(await file.arrayBuffer());
      const lanes = await this.#start();
      if (!lanes || turn !== this.#turn) return;
      const loaded = await lanes[i].load(bytes);
      if (turn !== this.#turn) return;
      const step = this.step;
      this.files = this.files.map((each, lane) =>
        lane === i ? { name: file.name, step, loaded } : each,
      );
      if (loaded.evaluation) {
        this.given = true;
        this.#forget();
        this.#progress[i].evaluated(loaded.evaluation);
        await this.#look(lanes);
        if (turn !== this.#turn) return;
        this.#frames.draw();
        await this.#keep(lanes);
        await this.#sum(lanes);
      }
    } catch (error) {
      if (turn === this.#turn) this.#fail(error);
    }
    if (turn === this.#turn) this.#rest();
  }

  /** Enables or disables the tests on longer inputs. @param {boolean} wanted */
  wantReach(wanted) {
    this.#reaches = wanted;
    void this.#reach();
  }

  /** Discards the run and ends the workers. */
  end() {
    this.#restart();
    this.#workers.end();
  }

  #restart() {
    this.#turn++;
    this.#going = false;
    this.#until = this.#asked = 0;
    for (const lane of this.#lanes ?? []) lane.dispose().catch(() => {});
    this.#lanes = null;
    this.#kept = null;
    this.#progress = noProgress();
    this.state = 'resting';
    this.problem = '';
    this.ended = '';
    this.pace = null;
    this.reach = null;
    this.files = laneNames.map(() => null);
    this.given = false;
    this.#forget();
    this.#frames.draw();
  }

  /** Discards everything that was computed from the previous weights. */
  #forget() {
    this.#back = Infinity;
    this.earlier = null;
    this.checksums = [];
  }

  /**
   * Computes the results of the earlier step that was requested. If the request changes meanwhile,
   * computes the newest request next and skips all others.
   */
  async #lookBack() {
    if (this.#lookingBack) return;
    this.#lookingBack = true;
    const turn = this.#turn;
    try {
      for (let done = ''; turn === this.#turn;) {
        const [step, ids, lanes] = [this.#back, this.#ids, this.#lanes];
        const key = `${step} ${ids}`;
        if (key === done || !lanes || step === Infinity) break;
        const found = await Promise.all(lanes.map((lane) => lane.lookBack(step, ids)));
        done = key;
        if (turn !== this.#turn || this.#back === Infinity) break;
        this.earlier = { step: found[0].step, looks: found.map(({ look }) => look) };
      }
    } catch (error) {
      if (turn === this.#turn) this.#fail(error);
    }
    this.#lookingBack = false;
    if (this.#back === Infinity) this.earlier = null;
  }

  async #go() {
    if (this.#going) return;
    this.#begin();
    const turn = this.#turn;
    const isOver = () => turn !== this.#turn;
    try {
      const lanes = await this.#start();
      if (!lanes || isOver()) return;
      this.state = 'running';
      this.#forget();
      await this.#run(lanes, isOver);
      if (!isOver() && !this.problem) await this.#keep(lanes);
      if (!isOver()) await this.#sum(lanes);
    } catch (error) {
      if (!isOver()) this.#fail(error);
    }
    if (!isOver()) this.#rest();
  }

  #begin() {
    // After a failure, retries from the start, because the same steps give the same weights. If
    // workers were lost, new workers continue the run.
    if (this.problem && !this.#lanes && this.#kept) this.problem = '';
    if (this.problem) {
      const until = this.#until;
      this.#restart();
      this.#until = until;
    }
    this.#going = true;
  }

  #rest() {
    this.#going = false;
    this.state = 'resting';
    void this.#reach();
  }

  /** The models in their workers. `null` if another run has started in the meantime. */
  async #start() {
    if (this.#lanes) return this.#lanes;
    const turn = this.#turn;
    this.state = 'starting';
    const kept = this.#kept;
    const lanes = await this.#workers.start(this.#options, kept?.lanes);
    if (turn !== this.#turn) {
      for (const lane of lanes) void lane.dispose();
      return null;
    }
    if (kept) for (const progress of this.#progress) progress.goBack(kept.step);
    return (this.#lanes = lanes);
  }

  /** Keeps checkpoints of the models. @param {RemoteLane[]} lanes */
  async #keep(lanes) {
    const [turn, step] = [this.#turn, this.step];
    const of = await Promise.all(lanes.map((lane) => lane.checkpoint()));
    if (turn === this.#turn) this.#kept = { step, lanes: of };
  }

  /** @param {RemoteLane[]} lanes */
  async #sum(lanes) {
    const turn = this.#turn;
    const checksums = await Promise.all(lanes.map((lane) => lane.checksum()));
    if (turn === this.#turn) this.checksums = checksums;
  }

  /** Tests longer examples at the selected step. */
  async #reach() {
    if (this.#reaching || !this.#reaches) return;
    this.#reaching = true;
    const turn = this.#turn;
    try {
      for (let done = ''; turn === this.#turn;) {
        const [lanes, step] = [this.#lanes, Math.min(this.#back, this.step)];
        // With other weights, the same step gives other results.
        const key = `${step} ${this.checksums}`;
        if (key === done || !lanes) break;
        const of = await Promise.all(lanes.map((lane) => lane.reach(step)));
        if (turn !== this.#turn) break;
        done = key;
        this.reach = { step, of };
        if (this.#going) break;
      }
    } catch {
      // A worker has ended. The run then stops and shows a message.
    }
    this.#reaching = false;
  }

  /** @param {RemoteLane[]} lanes @param {() => boolean} isOver */
  async #run(lanes, isOver) {
    const began = performance.now();
    const first = this.step;
    const { length, written, answers } = worlds[this.#options[0].world];
    /** Number of tokens in an example, including the tokens that the model writes. */
    const tokens = length + (written ? answers : 0);
    let [training, looked, reached, kept, atOnce] = [0, -Infinity, began, began, 1];
    this.#frames.spent = 0;
    while (this.step < this.#until) {
      const start = performance.now();
      const count = Math.min(atOnce, this.#until - this.step);
      const reports = await Promise.all(lanes.map((lane) => lane.train(count)));
      if (isOver()) return;
      reports.forEach((report, i) => this.#progress[i].add(report));
      const failures = reports.flatMap(({ step, failure: why }, i) =>
        why === undefined ? [] : [stopTexts.lane({ lane: laneNames[i], step: step + 1, why })],
      );
      if (this.#stopsEarly && (this.ended = this.#end())) this.#until = this.step;
      const taken = Math.max(...reports.map(({ milliseconds }) => milliseconds));
      training += reports.reduce((sum, { milliseconds }) => sum + milliseconds, 0) / lanes.length;
      // Consecutive steps take similar times, so choose the number of steps that fits into a slice.
      atOnce = Math.max(1, Math.min(mostAtOnce, Math.round((count * slice) / taken)));
      const last = failures.length > 0 || this.step >= this.#until;
      if (last || start - looked > betweenPictures) {
        looked = start;
        await this.#look(lanes);
        if (isOver()) return;
      }
      if (!last && this.#reaches && start - reached > betweenReaches) {
        await this.#reach();
        if (isOver()) return;
        reached = performance.now();
      }
      if (!last && start - kept > betweenKept) {
        await this.#keep(lanes);
        if (isOver()) return;
        kept = start;
      }
      const elapsed = performance.now() - began;
      const steps = (1000 * (this.step - first)) / elapsed;
      this.#pace = {
        ...{ steps, tokens: steps * sizes.batch * tokens },
        ...{ training: training / elapsed, drawing: this.#frames.spent / elapsed },
      };
      if (failures.length) {
        this.problem = failures.join(' ');
        this.#frames.draw();
        return;
      }
      this.#frames.offer();
    }
    this.#frames.draw();
  }

  /** Why more steps would change little, or an empty string if they may help; see `endOf()`. */
  #end() {
    return endOf(this.#progress.map(({ evaluations }) => evaluations));
  }

  /** @param {RemoteLane[]} lanes */
  async #look(lanes) {
    const looks = await Promise.all(lanes.map((lane) => lane.look(this.#ids)));
    looks.forEach((look, i) => (this.#progress[i].look = look));
  }

  /** @param {any} error */
  #fail(error) {
    this.#lanes = null;
    const from = this.#kept?.step;
    this.problem =
      error.code === 'load_failed'
        ? stopTexts.notStarted(reasonOf(error))
        : error.code === 'disposed'
          ? stopTexts.ended(this.step, from)
          : stopTexts.stopped({ step: this.step, why: reasonOf(error), from });
    this.#workers.end();
    this.#frames.draw();
  }
}
