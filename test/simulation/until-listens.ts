import { createConnection } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** Resolves true once this local port has a listener, false when it is not `wanted` any more. */
export async function untilListens(port: number, wanted: () => boolean): Promise<boolean> {
  while (wanted()) {
    if (await listens(port)) return true
    await sleep(20)
  }
  return false
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' })
    const end = (open: boolean) => (): void => {
      socket.destroy()
      resolve(open)
    }
    socket.once('connect', end(true))
    socket.once('error', end(false))
  })
}
