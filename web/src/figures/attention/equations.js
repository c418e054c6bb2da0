export const attention = String.raw`\htmlData{part=weights}{W} = \operatorname{softmax}\!\left(\frac{\htmlData{part=rows}{Q}\, \htmlData{part=columns}{K}^{\mathsf T}}{\sqrt{D}}\right),\qquad D = @`;
