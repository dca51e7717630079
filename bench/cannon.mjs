// One load by autocannon, described by the first argument; its result as JSON on standard output.
import autocannon from 'autocannon'

const { origin, requests, clients, seconds, headers } = JSON.parse(process.argv[2])
const result = await autocannon({ url: origin, connections: clients, duration: seconds, headers, requests })
process.stdout.write(JSON.stringify({ perSecond: result.requests.average, refused: result.non2xx }))
