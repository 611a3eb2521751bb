import { Socket, type SocketConstructorOpts, type TcpSocketConnectOpts } from 'node:net'

/** What a socket of Node's own reads at a time. */
const BUFFER_BYTES = 64 * 1024
/** Its kind, and the length of what follows the kind (Postgres's manual, Frontend/Backend Protocol, "Message Formats"). */
const KIND_BYTES = 1
const HEADER_BYTES = KIND_BYTES + 4

/**
 * A socket to Postgres whose `data` are whole messages, each good while its listeners are called: all that comes is read into one
 * buffer. Where Node makes a new one for each read, 64 KiB are touched for the first time each time, and a parser that finds a part of
 * a message at its end copies what comes next to it. Not for TLS, which takes the bytes from the socket itself.
 */
export function messageSocket(): Socket {
  let bytes = Buffer.allocUnsafeSlow(BUFFER_BYTES)
  /** Of a message that is not whole yet, at the buffer's start. */
  let held = 0
  const callback = (length: number): boolean => {
    const end = held + length
    const whole = endOfWhole(bytes, end)
    if (whole > 0) socket.emit('data', bytes.subarray(0, whole))
    held = end - whole
    // A message that fills the buffer gets one of twice the size, as long as it takes.
    const size = held === bytes.length ? 2 * held : held < BUFFER_BYTES ? BUFFER_BYTES : bytes.length
    const next = size === bytes.length ? bytes : Buffer.allocUnsafeSlow(size)
    if (next !== bytes || whole > 0) bytes.copy(next, 0, whole, end)
    bytes = next
    return true
  }
  const options: SocketConstructorOpts & Pick<TcpSocketConnectOpts, 'onread'> = {
    onread: { buffer: () => bytes.subarray(held), callback },
  }
  const socket = new Socket(options)
  return socket
}

function endOfWhole(bytes: Buffer, end: number): number {
  let at = 0
  while (at + HEADER_BYTES <= end) {
    const next = at + KIND_BYTES + bytes.readUInt32BE(at + KIND_BYTES)
    if (next > end) break
    at = next
  }
  return at
}
