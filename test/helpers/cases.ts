/**
 * How many cases a property test tries: all of them in `npm run test:all`, a tenth (at least five) in `npm test`.
 */
export function cases(all: number): number {
  return process.env['TEST_ALL'] === 'true' ? all : Math.min(all, Math.max(5, Math.ceil(all / 10)))
}
