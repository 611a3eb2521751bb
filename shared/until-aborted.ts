export { ABORTED, unlessAborted, untilAborted } from './async/abort.ts'
