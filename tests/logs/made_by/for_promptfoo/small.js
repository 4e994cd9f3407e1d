// A model that is wrong on every third number.
module.exports = class {
  id() {
    return 'made:small';
  }

  async callApi(prompt) {
    const number = Number(prompt.match(/\d+/)[0]);
    return { output: `The answer is ${2 * number + (number % 3 === 0 ? 1 : 0)}.` };
  }
};
