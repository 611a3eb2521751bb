import { openPipeliners } from './raw-http.ts'

/** Runs {@link openPipeliners} in a process of its own, so that it takes no time from the measured client. */
const [port = '', options = '{}'] = process.argv.slice(2)
openPipeliners(Number(port), JSON.parse(options) as Parameters<typeof openPipeliners>[1])
process.send?.('open')
process.once('disconnect', () => process.exit())
