/** Clouds of outputs: what queries make of keys that are drawn again and again, by simulation and in closed form. */

import { attendToSamples, covarianceEllipse, outputMoments, outputStatistics, steepnessOf } from "./noise.js";
import { Plane } from "./plane.js";

export const SAMPLES = 2000;
const QUICK = 60_000; // a sum over so many nodes is no matter for one frame
const PAUSE = 80; // milliseconds without a change before a longer one is computed
const BINS = 41;
const COLOURS = ["var(--s2)", "var(--s3)", "var(--s6)"]; // of a, of b, and of all others

/** Returns a function that computes something again only if what it depends on has changed. */
export function remember(compute) {
  let before = [];
  let found = null;
  return (...given) => {
    if (given.length !== before.length || given.some((each, i) => each !== before[i])) {
      found = compute(...given);
      before = given;
    }
    return found;
  };
}

/** Returns the colour of a value or key, by its number. */
export function colourOf(i) {
  return COLOURS[Math.min(i, 2)];
}

/** Draws values, and where the average is that is wanted. */
export function paintValues(plane, values) {
  plane.line(values[0], values[1], { class: "axis" });
  values.forEach((value, i) => plane.square(value, i < 2 ? 6.5 : 3.5, colourOf(i)));
  plane.text(values[0], [-19, 4], "v_a");
  plane.text(values[1], [19, 4], "v_b");
  plane.mark([0, 0], "M-6-6L6 6M-6 6L6-6", { class: "wanted" });
}

export class Cloud {
  /**
   * Takes the names of the queries that are averaged over, the number of the cloud's colour, and a function that returns
   * of what queries are made: "means", "keys" or "lengths".
   */
  constructor(view, heads, colour, getOrigin) {
    this.view = view;
    this.heads = heads;
    this.getOrigin = getOrigin;
    this.number = colour;
    this.colour = `var(--s${colour})`;
    this.plane = new Plane(view, [-1.62, 1.62, -0.72, 1.82]);
    this.timer = 0;
    this.known = null; // the last moments in closed form, with what they are about
    this.attend = remember((samples, values, s, origin, ...heads) =>
      attendToSamples(samples, heads, values, s, origin)
    );
  }

  /** Computes the cloud of the first samples; `betas` are the variances of the lengths of k_a and k_b. */
  compute(samples, values, count, betas) {
    const { state } = this.view;
    const heads = this.heads.map((name) => state[name]);
    const origin = this.getOrigin();
    this.outputs = this.attend(samples, values, state.s, origin, ...heads);
    this.values = values;
    this.count = count;
    this.measured = outputStatistics(this.outputs, count);
    const strengths = heads.map((head) => head.map((value) => value * state.s));
    this.predicted = this.predict(strengths, origin === "lengths" ? [0, 0] : betas, origin);
  }

  /** Returns mean and covariance in closed form; where that takes long, null until nothing moves any more. */
  predict(strengths, betas, origin) {
    const about = JSON.stringify([strengths, this.values.length, betas, origin]);
    if (this.known?.about === about) return this.known.moments;
    clearTimeout(this.timer);
    const compute = () => {
      this.known = { about, moments: outputMoments(this.values, strengths, betas, origin) };
      return this.known.moments;
    };
    if (countNodes(strengths, betas, origin) <= QUICK) return compute();
    this.timer = setTimeout(() => {
      compute();
      this.view.draw();
    }, PAUSE);
    return null;
  }

  paint(isGrowing) {
    const { plane, outputs, count, measured, predicted } = this;
    const context = plane.clearCanvas();
    const ink = this.view.series[this.number];
    this.paintBars(context, ink);
    plane.drawCloud(context, outputs, count, ink, Math.min(0.75, 0.16 + 6 / count), 1.8);
    paintValues(plane, this.values);
    this.paintEllipse(measured, { class: "ellipse", style: { "--own": this.colour } });
    if (predicted) this.paintEllipse(predicted, { class: "ellipse predicted" });
    plane.mark(measured.mean, "M0-8V8M-8 0H8", { class: "mean-cross", style: { "--own": this.colour } });
    const newest = [outputs[2 * count - 2], outputs[2 * count - 1]];
    if (isGrowing || count === 1) plane.dot(newest, 6, { class: "newest" });
    return [];
  }

  paintEllipse({ mean, covariance }, look) {
    const { plane } = this;
    const { long, short, angle } = covarianceEllipse(covariance);
    const [x, y] = plane.toPixels(mean);
    const [rx, ry] = [long, short].map((axis) => Math.max(1, axis * plane.unit));
    const turn = `translate(${x} ${y}) rotate(${(-angle * 180) / Math.PI})`;
    plane.draw("ellipse", { rx, ry, transform: turn, ...look });
  }

  /** Draws below the line from v_a to v_b how many of the outputs lie where along it. */
  paintBars(context, colour) {
    const { plane, outputs, count } = this;
    const bins = new Float64Array(BINS);
    const width = 2.05 / BINS;
    for (let n = 0; n < count; n++) {
      const bin = Math.floor((outputs[2 * n] + 1.025) / width);
      if (bin >= 0 && bin < BINS) bins[bin]++;
    }
    const most = Math.max(...bins);
    context.fillStyle = colour;
    context.globalAlpha = 0.6;
    for (let i = 0; i < BINS; i++) {
      const [x, y] = plane.toPixels([-1.025 + i * width, -0.14]);
      context.fillRect(x + 0.5, y, width * plane.unit - 1, (0.5 * plane.unit * bins[i]) / most);
    }
    context.globalAlpha = 1;
  }
}

/** Returns about how many terms the sums of the closed form have. */
function countNodes(strengths, betas, origin) {
  return betas.reduce((product, beta, axis) => {
    if (beta === 0) return product;
    return product * 18 * Math.max(8, 0.8 * steepnessOf(strengths, axis, beta, origin));
  }, strengths.length);
}
