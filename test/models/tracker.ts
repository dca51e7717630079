/** The second reference model, read from the sources as `blog.ts` is. */
import './blog.ts'

const { default: tracker } = await import('../../examples/tracker/model.ts')
export default tracker
