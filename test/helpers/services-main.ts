import { start } from './start-services.ts'

/**
 * The real services for tests: named on the command line, announced to the parent over IPC, stopped when the parent
 * disconnects or dies.
 */
const running = await start(process.argv.slice(2))
let stopping = false
const stop = (): void => {
  if (stopping) return
  stopping = true
  running.stop().then(
    () => process.exit(0),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
}
process.on('disconnect', stop)
// The parent may have died while the services were starting.
if (process.connected) process.send?.(running.services)
else stop()
