export { pause } from '../../shared/async/pause.ts'
export { Wakeup } from '../../shared/async/wakeup.ts'
