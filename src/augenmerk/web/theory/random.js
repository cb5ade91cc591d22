/** Random numbers from a seed, so that a link shows the same samples again. They are not those of numpy. */

export class Random {
  constructor(seed) {
    this.state = [seed >>> 0, 0x9e3779b9, 0x243f6a88, 0xb7e15162];
    this.spare = null;
    for (let i = 0; i < 16; i++) this.next();
  }

  /** Returns 32 random bits (the generator sfc32 of Doty-Humphrey). */
  next() {
    const [a, b, c, counter] = this.state;
    const sum = (a + b + counter) | 0;
    this.state = [b ^ (b >>> 9), (c + (c << 3)) | 0, (((c << 21) | (c >>> 11)) + sum) | 0, (counter + 1) | 0];
    return sum >>> 0;
  }

  /** Returns a number above 0 and below 1. */
  uniform() {
    return (this.next() + 0.5) / 4294967296;
  }

  /** Returns a standard normal number (Box and Muller, who make two at a time). */
  normal() {
    if (this.spare !== null) {
      const spare = this.spare;
      this.spare = null;
      return spare;
    }
    const radius = Math.sqrt(-2 * Math.log(this.uniform()));
    const angle = 2 * Math.PI * this.uniform();
    this.spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  }
}
