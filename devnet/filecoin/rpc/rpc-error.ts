/** An error answer: its code and its HTTP status. */
export class RpcError extends Error {
  override name = 'RpcError'
  readonly code: number
  readonly status: number

  constructor(code: number, message: string, status = 200) {
    super(message)
    this.code = code
    this.status = status
  }
}

/** Returns the error of a method that has no code of its own. */
export function failed(message: string): RpcError {
  return new RpcError(1, message)
}

export function unreadable(message: string): RpcError {
  return new RpcError(-32_700, message, 500)
}

export function unknownMethod(name: string): RpcError {
  return new RpcError(-32_601, `method '${name}' not found`, 500)
}
