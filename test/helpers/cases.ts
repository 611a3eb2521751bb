/**
 * How many cases a property test tries: all of them in `npm run test:all`, and `quick` in `npm test` (a tenth, at least
 * three, where the test names no number).
 */
export function cases(all: number, quick = Math.max(3, Math.ceil(all / 10))): number {
  return process.env['TEST_ALL'] === 'true' ? all : Math.min(all, quick)
}
