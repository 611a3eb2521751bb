import { openPipeliners } from './raw-http.ts'

/** {@link openPipeliners} in a process of its own, so that it takes no time of the client that is measured. */
const [port = '', options = '{}'] = process.argv.slice(2)
openPipeliners(Number(port), JSON.parse(options) as Parameters<typeof openPipeliners>[1])
process.send?.('open')
process.once('disconnect', () => process.exit())
