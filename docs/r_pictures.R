# Draws the pictures of r.md with an installed package: Rscript docs/r_pictures.R
library(npzoo)

folder <- file.path("docs", "static")
draw <- function(name, width, height, picture) {
  grDevices::png(file.path(folder, name), width = width, height = height, pointsize = 11, res = 96)
  on.exit(grDevices::dev.off())
  graphics::par(mar = c(4, 4, 2, 1))
  plot(picture)
}

air <- airquality["Ozone"]
air$date <- as.Date(sprintf("1973-%02d-%02d", airquality$Month, airquality$Day))
draw("r-fill.png", 720, 320, np_fill(air, level = 0.9, bounds = c(0, NA)))
draw("r-forecast.png", 720, 320, np_forecast(AirPassengers, 24))
draw("r-map.png", 720, 340, np_map(quakes, values = "depth", coordinates = c("long", "lat"), lonlat = TRUE, bounds = c(0, NA)))
draw("r-fit.png", 720, 320, np_fit(dist ~ speed, cars, bounds = c(0, NA)))
