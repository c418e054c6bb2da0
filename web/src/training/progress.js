/** @typedef {import('./lane.js').Evaluation} Evaluation */
/** @typedef {Pick<Progress, 'step' | 'losses' | 'evaluations' | 'look'>} Results */

/** The results of a lane, one of the models that are trained side by side. */
export class Progress {
  /** Number of steps taken. */
  step = 0;
  /** Loss of each step. @type {number[]} */
  losses = [];
  /** @type {Evaluation[]} */
  evaluations = [];
  /** The current model's view of the example. @type {import('./model.js').Look | null} */
  look = null;

  /** Adds the results of further steps. @param {import('./lane.js').Report} report */
  add({ step, losses, evaluations }) {
    this.step = step;
    this.losses.push(...losses);
    evaluations.forEach((each) => this.evaluated(each));
  }

  /**
   * Adds an evaluation. After weights are loaded, the same step is evaluated again, and the new
   * result replaces the old result.
   * @param {Evaluation} evaluation
   */
  evaluated(evaluation) {
    if (this.evaluations.at(-1)?.step === evaluation.step) this.evaluations.pop();
    this.evaluations.push(evaluation);
  }

  /** Discards all results after a step. @param {number} step */
  goBack(step) {
    this.step = this.losses.length = step;
    this.evaluations = this.evaluations.filter((each) => each.step <= step);
  }
}
