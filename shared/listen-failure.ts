import { messageOf } from './errors.ts'

/** Turns a server's listen error into one line that names the variable to set. */
export function listenFailure(
  variable: { host: string; port: string },
  address: { host: string; port: number },
  error: unknown,
): Error {
  return new Error(explain(variable, address, error), { cause: error })
}

function explain(
  variable: { host: string; port: string },
  { host, port }: { host: string; port: number },
  error: unknown,
): string {
  switch ((error as { code?: unknown }).code) {
    case 'EADDRINUSE':
      return `${variable.port} ${port} on ${host} is in use: stop what listens there, or set ${variable.port} to a free port`
    case 'EACCES':
      return `${variable.port} ${port} may not be used by this account: set ${variable.port} to a port above 1023`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${variable.host} ${host} is no address of this machine: set ${variable.host} to one, or to 127.0.0.1`
    default:
      return `${variable.host} and ${variable.port}: cannot listen on ${host}:${port}: ${messageOf(error)}`
  }
}
